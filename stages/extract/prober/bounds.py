"""Finds what an index input may hold at most, so that its draws reach all that it can.

A search that guessed ids below ten would leave a table of a thousand rows in ten lines of cache.
"""

from dataclasses import replace

import torch

from .attempt import Program
from .state import Input, Path, State, axes

LEAST = 10
"""What a guess begins with: smaller limits are no tables."""


def with_bounds(program: Program, state: State) -> State:
    """The state with each index input drawn up to the size that limits it.

    A size limits an input if the class runs with the size's last index everywhere, and fails with
    one more. Sizes are arguments, axes of other inputs, and the embeddings of the model.
    """
    sizes = _sizes(program, state)
    for one in state.inputs or ():
        if one.kind == "tensor" and one.dtype == "int64":
            state = _bounded(program, state, one, sizes)
    return state


def _bounded(program: Program, state: State, one: Input, sizes: dict[int, Path]) -> State:
    def runs(bound: int) -> bool:
        outcome = program.attempt(state.with_input(replace(one, bound=bound, draw="last")))
        return outcome.ok

    own = {size for _, size in axes(one)}
    known = sorted(
        size for size in sizes if sizes[size][:2] != ("axis", one.name) or size not in own
    )
    if not known or runs(known[-1] + 1):
        return state  # nothing limits it, or nothing that has a name
    low, high = 0, len(known)  # known[:low] run, known[high:] do not
    while low < high:
        middle = (low + high) // 2
        if runs(known[middle]):
            low = middle + 1
        else:
            high = middle
    if low == 0 or runs(known[low - 1] + 1):
        return state
    size = known[low - 1]
    return state.with_input(replace(one, bound=size, bound_of="/".join(sizes[size])))


def _sizes(program: Program, state: State) -> dict[int, Path]:
    """By size: where it stands, arguments before axes; an empty path for one without a name."""
    model = program.attempt(replace(state, inputs=None)).output
    found: dict[int, Path] = {}
    if isinstance(model, torch.nn.Module):
        tables = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        found = {one.num_embeddings: () for one in model.modules() if isinstance(one, tables)}
    for path, size in state.variables():
        if path[0] == "axis":
            found[size] = path
    for path, size in state.variables():
        if path[0] == "arg":
            found[size] = path
    return {size: path for size, path in found.items() if size > LEAST}
