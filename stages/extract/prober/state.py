"""A guess: constructor arguments as source text, and forward inputs with their sizes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

Path = tuple[str, ...]
"""Names a variable: ("arg", "dim"), or ("axis", "x", "0", "2") for axis 2 of input x's item 0."""


@dataclass(frozen=True)
class Input:
    """One forward argument.

    `kind` is tensor, list, tuple or value; only tensors have dims, only groups have items, only
    values have `source`, Python text such as "None" or "32".
    """

    name: str
    kind: str = "tensor"
    dims: tuple[int, ...] = ()
    dtype: str = "float32"
    draw: str = "normal"
    bound: int = 0
    bound_of: str = ""  # the size that the bound is, as "arg/vocab_size"; empty for a mere number
    items: tuple["Input", ...] = ()
    source: str = ""
    evidence: str = "feedback"

    def changed(self, change: "Callable[[Input], Input]") -> "Input":
        """The input with `change` made to it, or to all that its groups hold."""
        if self.items:
            return replace(self, items=tuple(item.changed(change) for item in self.items))
        return change(self)


@dataclass(frozen=True)
class State:
    """One point of the search."""

    args: tuple[tuple[str, str], ...] = ()
    inputs: tuple[Input, ...] | None = None
    links: frozenset[frozenset[Path]] = field(default_factory=frozenset)

    def arg(self, name: str) -> str | None:
        return dict(self.args).get(name)

    def with_arg(self, name: str, source: str) -> "State":
        args = dict(self.args)
        args[name] = source
        return replace(self, args=tuple(args.items()))

    def with_input(self, new: Input) -> "State":
        """Replaces the input of that name, or adds it at the end."""
        inputs = self.inputs or ()
        if any(old.name == new.name for old in inputs):
            return replace(
                self, inputs=tuple(new if old.name == new.name else old for old in inputs)
            )
        return replace(self, inputs=(*inputs, new))

    def variables(self) -> list[tuple[Path, int]]:
        """Every integer that may be changed: axes first, then constructor arguments."""
        found: list[tuple[Path, int]] = []
        for one in self.inputs or ():
            found += [(("axis", *where), size) for where, size in axes(one)]
            if one.kind == "value" and one.source.isdigit():
                found.append((("value", one.name), int(one.source)))
        for name, source in self.args:
            if source.isdigit():
                found.append((("arg", name), int(source)))
        return found

    def with_variable(self, path: Path, size: int) -> "State":
        if path[0] == "arg":
            return self.with_arg(path[1], str(size))
        one = next(one for one in self.inputs or () if one.name == path[1])
        if path[0] == "value":
            return self.with_input(replace(one, source=str(size)))
        return self.with_input(_resized(one, [int(part) for part in path[2:]], size))

    def linked(self, one: Path, other: Path) -> "State":
        return replace(self, links=self.links | {frozenset((one, other))})

    def key(self) -> tuple[Any, ...]:
        return (self.args, self.inputs)


def axes(one: Input, where: Path | None = None) -> list[tuple[Path, int]]:
    where = where or (one.name,)
    if one.kind == "tensor":
        return [((*where, str(index)), size) for index, size in enumerate(one.dims)]
    found = []
    for index, item in enumerate(one.items):
        found += axes(item, (*where, str(index)))
    return found


def _resized(one: Input, where: list[int], size: int) -> Input:
    if one.kind == "tensor":
        dims = list(one.dims)
        dims[where[0]] = size
        return replace(one, dims=tuple(dims))
    items = list(one.items)
    items[where[0]] = _resized(items[where[0]], where[1:], size)
    return replace(one, items=tuple(items))
