"""The ATen calls of one forward, recorded; and played again with one value changed.

A tape holds every intermediate tensor, so it is for small shapes or fake tensors.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.tracing import ops

MOST_CALLS = 10_000  # unless told otherwise; the largest KernelBench model makes 3,000


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor in a call's arguments: an index into `Tape.values`."""

    index: int


@dataclass(frozen=True)
class Call:
    """One ATen call. Tensors are `Slot`s, everything else is as it was passed."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    reads: tuple[int, ...]
    writes: tuple[int, ...]  # tensors it returns; of an in-place call, those it wrote to
    caller: str = ""  # name of the Python function that made the call

    @property
    def name(self) -> str:
        return ops.base_name(self.func)

    @property
    def in_place(self) -> bool:
        return bool(ops.mutated(self.func, self.args, self.kwargs))


@dataclass
class Tape:
    """The calls of one forward in order.

    `values` are all tensors seen; the first to appear as a leaf (input, parameter, buffer or a
    constant of the program) are in `leaves`, by a name where they have one.
    """

    calls: list[Call] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    leaves: dict[int, str] = field(default_factory=dict)
    outputs: list[int] = field(default_factory=list)

    @cached_property
    def pure(self) -> bool:
        """No call writes to a tensor that exists already."""
        return not any(call.in_place for call in self.calls)

    def reached(self) -> set[int]:
        """The calls on which an output or a decision of Python depends, also by shared memory."""
        wanted = {self._memory(index) for index in self.outputs} | set(self.outputs)
        alive: set[int] = set()
        for position in reversed(range(len(self.calls))):
            call = self.calls[position]
            touched = set(call.writes) | {self._memory(index) for index in call.writes}
            if touched & wanted or call.name in ops.READS_TO_PYTHON:
                alive.add(position)
                wanted |= set(call.reads) | {self._memory(index) for index in call.reads}
        return alive

    def steering(self) -> set[int]:
        """The calls whose result is read by Python, e.g. to decide what to do next.

        What they steer is frozen in the tape, so changing them shows nothing.
        """
        wanted: set[int] = set()
        found: set[int] = set()
        for position in reversed(range(len(self.calls))):
            call = self.calls[position]
            if call.name in ops.READS_TO_PYTHON or set(call.writes) & wanted:
                found.add(position)
                wanted |= set(call.reads)
        return found

    def _memory(self, index: int) -> tuple[str, int]:
        # Tensors over one storage depend on each other as soon as something is written in place.
        value = self.values[index]
        return ("storage", value.untyped_storage()._cdata)


@contextmanager
def recording(
    named: Mapping[str, torch.Tensor], most_calls: int = MOST_CALLS
) -> Iterator["Recorder"]:
    """Records all ATen calls inside the block. `named` are the leaves that have a name."""
    recorder = Recorder(named, most_calls)
    with recorder:
        yield recorder


class TooManyCalls(Exception):
    """The forward has more calls than a tape holds, e.g. a loop over thousands of time steps."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]  # torch is not typed for mypy here
    def __init__(self, named: Mapping[str, torch.Tensor], most_calls: int) -> None:
        super().__init__()
        self._most_calls = most_calls
        self.tape = Tape()
        self._index: dict[int, int] = {}
        for name, value in named.items():
            if id(value) not in self._index:
                self.tape.leaves[self._add(value)] = name

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":  # asks for a tensor's device and the like
            return func(*args, **kwargs)
        reads: list[int] = []
        held_args, held_kwargs = replaced((args, kwargs), lambda t: self._read(t, reads))
        result = func(*args, **kwargs)
        written: list[int] = []
        replaced(result, lambda t: self._write(t, written))
        if not written:
            written = [self._index[id(t)] for t in ops.mutated(func, args, kwargs)]
        if len(self.tape.calls) == self._most_calls:
            raise TooManyCalls(f"more than {self._most_calls} operations")
        caller = _caller(sys._getframe(1))
        self.tape.calls.append(
            Call(func, held_args, held_kwargs, tuple(reads), tuple(written), caller)
        )
        return result

    def finish(self, outputs: list[torch.Tensor]) -> Tape:
        self.tape.outputs = [self._leaf(value) for value in outputs]
        return self.tape

    def _read(self, value: torch.Tensor, reads: list[int]) -> Slot:
        index = self._leaf(value)
        reads.append(index)
        return Slot(index)

    def _write(self, value: torch.Tensor, written: list[int]) -> None:
        index = self._index.get(id(value))
        written.append(self._add(value) if index is None else index)

    def _leaf(self, value: torch.Tensor) -> int:
        index = self._index.get(id(value))
        if index is None:
            index = self._add(value)
            self.tape.leaves[index] = ""
        return index

    def _add(self, value: torch.Tensor) -> int:
        index = self._index[id(value)] = len(self.tape.values)
        self.tape.values.append(value)  # holding it keeps its id from being used again
        return index


def _caller(frame: FrameType | None) -> str:
    """Name of the function that made the call, past torch's own wrappers of dispatch."""
    while frame is not None and frame.f_code.co_name in ("_fn", "inner", "__call__"):
        frame = frame.f_back
    return frame.f_code.co_qualname if frame is not None else ""


Change = Callable[[torch.Tensor], torch.Tensor]


def play(
    tape: Tape,
    *,
    change: Mapping[int, Change] | None = None,
    swap: tuple[int, int] | None = None,
) -> list[torch.Tensor]:
    """The outputs when some values are changed; control flow stays as recorded.

    Of a pure tape only what depends on the change is computed again; a tape with in-place calls
    is played from its start, because its later values have overwritten the earlier ones.

    Args:
        change: values by index and how each is changed, leaves or results of calls.
        swap: (call, value): the call is left out, and its first result is that value instead.
    """
    changes = change or {}
    in_calls = {index for index in changes if index not in tape.leaves}
    new = {i: alter(tape.values[i]) for i, alter in changes.items() if i not in in_calls}

    def now(slot: Slot) -> torch.Tensor:
        return new.get(slot.index, tape.values[slot.index])

    for position, call in enumerate(tape.calls):
        if swap is not None and position == swap[0]:
            new[call.writes[0]] = now(Slot(swap[1]))
            continue
        if tape.pure and not any(index in new for index in call.reads):
            results = [tape.values[i] for i in call.writes] if in_calls & {*call.writes} else []
        else:
            results = flat(call.func(*filled(call.args, now), **filled(call.kwargs, now)))
        for index, result in zip(call.writes, results, strict=False):
            if index in in_calls:
                new[index] = changes[index](result)
            elif not tape.pure or result is not tape.values[index]:
                new[index] = result
    return [new.get(index, tape.values[index]) for index in tape.outputs]


def replaced(tree: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The tree of tuples, lists and dicts with every tensor replaced."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, tuple):
        return tuple(replaced(part, change) for part in tree)
    if isinstance(tree, list):
        return [replaced(part, change) for part in tree]
    if isinstance(tree, dict):
        return {key: replaced(part, change) for key, part in tree.items()}
    return tree


def filled(tree: Any, value_of: Callable[[Slot], torch.Tensor]) -> Any:
    """The tree with every slot filled."""
    if isinstance(tree, Slot):
        return value_of(tree)
    if isinstance(tree, tuple):
        return tuple(filled(part, value_of) for part in tree)
    if isinstance(tree, list):
        return [filled(part, value_of) for part in tree]
    if isinstance(tree, dict):
        return {key: filled(part, value_of) for key, part in tree.items()}
    return tree


def flat(result: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    replaced(result, found.append)
    return found
