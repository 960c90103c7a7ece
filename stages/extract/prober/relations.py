"""Proves by trying which sizes belong together, and which can be chosen.

The search makes sizes equal until the class runs. Whether they have to be equal it does not know: a
height that happened to become the number of channels would be tied to it for ever. So each tied
axis is changed alone, and where the class still runs, the axis is free. And a size that cannot
change because the constructor's default is what it has to equal gets that argument.
"""

from collections.abc import Callable, Mapping

from .assembly import Finished
from .attempt import Program
from .state import Path, State
from .verify import runs_at

MOST_AXES = 8
"""Axes tried for one class: programs with more tied ones are rare."""


def untangled(program: Program, state: State) -> State:
    """The state without links that nothing depends on.

    An axis is free if it runs at another size, all else being as it was; an argument, if all the
    others that share its size can change without it.
    """
    sizes = dict(state.variables())
    for path in _tied_axes(state)[:MOST_AXES]:
        if _runs(program, state.with_variable(path, 2 * sizes[path])):
            state = _without(state, path)
    for path in _doubtful_arguments(state)[:MOST_AXES]:
        changed = state
        for other in _sharing(state, path) - {path}:
            changed = changed.with_variable(other, 2 * sizes[other])
        if _runs(program, changed):
            state = _without(state, path)
    return state


def _runs(program: Program, state: State) -> bool:
    outcome = program.attempt(state)
    return outcome.ok and outcome.finite


def _without(state: State, path: Path) -> State:
    links = frozenset(link for link in state.links if path not in link)
    return State(state.args, state.inputs, links)


def with_arguments(
    state: State, assembled: Callable[[State], Finished], defaults: Mapping[str, int]
) -> State:
    """The state with those defaults as arguments without which a size of its program is stuck.

    Args:
        state: one that runs.
        assembled: gives a state's program.
        defaults: the constructor's integer defaults.
    """
    tried: set[str] = set()
    while True:
        finished = assembled(state)
        better = None
        for one in finished.sizes:
            place = finished.places[one["name"]]
            if place not in tried and better is None:
                tried.add(place)
                better = _freed(state, finished, one["name"], one["value"], assembled, defaults)
        if better is None:
            return state
        state = better


def _freed(
    state: State,
    finished: Finished,
    name: str,
    size: int,
    assembled: Callable[[State], Finished],
    defaults: Mapping[str, int],
) -> State | None:
    equal = [one for one, value in defaults.items() if value == size and state.arg(one) is None]
    if not equal or runs_at(finished.code, name, 2 * size):
        return None
    place = finished.places[name]
    for names in [[one] for one in equal] + ([equal] if len(equal) > 1 else []):
        new = state
        for one in names:
            new = new.with_arg(one, str(size)).linked(tuple(place.split("/")), ("arg", one))
        again = assembled(new)
        constant = next((key for key, where in again.places.items() if where == place), None)
        if constant is not None and runs_at(again.code, constant, 2 * size):
            return new
    return None


def _tied_axes(state: State) -> list[Path]:
    """Axes that share their size with an argument, or with another place, by the search's doing."""
    sizes = dict(state.variables())
    found = []
    for path, size in sizes.items():
        partners = [
            other
            for link in sorted(state.links, key=sorted)
            if path in link
            for other in sorted(link - {path})
            if sizes.get(other) == size
        ]
        if path[0] == "axis" and size > 1 and any(_may_be_chance(path, one) for one in partners):
            found.append(path)
    return found


def _doubtful_arguments(state: State) -> list[Path]:
    """Arguments that share a size with an axis and with another argument."""
    found = []
    for path, _ in state.variables():
        if path[0] == "arg":
            kinds = [one[0] for one in _sharing(state, path) - {path}]
            if "axis" in kinds and "arg" in kinds:
                found.append(path)
    return found


def _sharing(state: State, path: Path) -> set[Path]:
    """All variables that the search has tied to this one and that have its value."""
    sizes = dict(state.variables())
    group, waiting = {path}, [path]
    while waiting:
        one = waiting.pop()
        for link in state.links:
            if one in link:
                new = {other for other in link - group if sizes.get(other) == sizes[path]}
                group |= new
                waiting += new
    return group


def _may_be_chance(path: Path, other: Path) -> bool:
    """Equal places of two inputs, such as both batches, are equal for a reason."""
    return other[0] != "axis" or path[1] == other[1] or path[-1] != other[-1]
