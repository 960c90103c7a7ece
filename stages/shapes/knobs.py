"""What can be turned at a program: its batch, its lengths, its widths, and what follows from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from stages.shapes.roles import Axis, axes_of, is_first
from stages.shapes.suggestion import Problem
from stages.shapes.table import Table

LENGTHS = ("sequence", "spatial")
BY_ACCIDENT = 256  # below that a constant may equal a product of others without being one


@dataclass(frozen=True)
class Knobs:
    """Names of size constants by the knob that turns them."""

    base: Mapping[str, int]  # the author's sizes
    batch: tuple[str, ...] = ()  # all count the same samples
    lengths: tuple[tuple[str, ...], ...] = ()  # those of equal value are one
    widths: tuple[str, ...] = ()
    products: tuple[tuple[str, tuple[str, ...]], ...] = ()  # a constant, and its factors
    small: tuple[str, ...] = ()  # lengths as small as a count of colours: perhaps one

    @property
    def movable(self) -> list[str]:
        lengths = [name for group in self.lengths for name in group]
        return [*self.batch, *lengths, *self.widths]

    def only(self, name: str) -> "Knobs":
        """One constant, as a length."""
        return Knobs(self.base, lengths=((name,),))

    def tied(self) -> "Knobs":
        """All that can be moved, and those of equal value as one, whatever they count."""
        groups: dict[int, list[str]] = {}
        for name in self.movable:
            groups.setdefault(self.base[name], []).append(name)
        batch = next((tuple(g) for g in groups.values() if set(g) & set(self.batch)), ())
        lengths = tuple(tuple(group) for group in groups.values() if tuple(group) != batch)
        return replace(self, batch=batch, lengths=lengths, widths=())

    def turned(
        self, step: Fraction, width: Fraction, *, odd: bool, free: bool
    ) -> dict[str, int] | None:
        """All sizes with lengths and widths turned, at a batch of one.

        None where a size would be no whole number.

        Args:
            step: factor of the lengths.
            width: factor of the widths.
            odd: whether some size has to become odd.
            free: lengths need not divide the author's, nor be divided by them.
        """
        sizes = dict(self.base) | dict.fromkeys(self.batch, 1)
        for group in self.lengths:
            length = self.base[group[0]] * step
            if free:
                length = Fraction(max(3, math.floor(length) - 1) | 1)
            elif odd and step > 1 and not self.batch:
                length += 1  # no multiple of an even number is odd
            if length.denominator != 1:
                return None
            sizes |= dict.fromkeys(group, int(length))
        for name in self.widths:
            wide = self.base[name] * width
            if wide.denominator != 1:
                return None
            sizes[name] = int(wide)
        return sizes

    def with_batch(self, sizes: Mapping[str, int], batch: int) -> dict[str, int]:
        """The sizes at another batch, and what is a product of them."""
        whole = dict(sizes) | dict.fromkeys(self.batch, batch)
        for name, factors in self.products:
            whole[name] = math.prod(whole[factor] for factor in factors)
        return whole

    def cost(self, sizes: Mapping[str, int]) -> float:
        """Times the author's, by rule of thumb: the data's, and widths half way to their square."""
        firsts = [*self.batch[:1], *(name for group in self.lengths for name in group)]
        data = math.prod(sizes[name] / self.base[name] for name in firsts)
        width = max((sizes[name] / self.base[name] for name in self.widths), default=1.0)
        return float(data * width**1.5)


def knobs_of(problem: Problem, table: Table) -> Knobs:
    """The knobs of a program.

    Raises:
        SyntaxError: the code is not Python.
    """
    axes = axes_of(problem.code, problem.sizes, table)
    products = _products(axes)
    batch = _batch(problem.code, axes)
    bound = {*batch, *(name for name, _ in products)}
    groups: dict[int, list[str]] = {}
    for axis in axes:
        if axis.kind == "data" and axis.name not in bound:
            groups.setdefault(axis.value, []).append(axis.name)
    return Knobs(
        dict(problem.sizes),
        batch,
        tuple(tuple(group) for group in groups.values()),
        tuple(axis.name for axis in axes if axis.kind == "width" and axis.name not in bound),
        products,
        tuple(
            a.name for a in axes if a.kind == "fixed" and a.role in LENGTHS and a.name not in bound
        ),
    )


def _batch(code: str, axes: Sequence[Axis]) -> tuple[str, ...]:
    """The first batch axis, and what counts the same samples under another name."""
    firsts = is_first(code)
    named = [axis for axis in axes if axis.kind == "data" and axis.role == "batch"]
    possible = named or [axis for axis in axes if axis.name in firsts]
    return tuple(
        axis.name
        for axis in axes
        if possible and axis.value == possible[0].value and (axis in named or axis.name in firsts)
    )


def _products(axes: Sequence[Axis]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Constants of the data that are a product of neighbours before them: a flattened image."""
    found: dict[str, tuple[str, ...]] = {}
    for position, axis in enumerate(axes):
        before = [a for a in axes[:position] if a.value > 1 and a.name not in found]
        runs = [
            before[start:end]
            for start in range(len(before))
            for end in range(start + 2, len(before) + 1)
            if math.prod(a.value for a in before[start:end]) == axis.value
        ]
        if axis.kind == "data" and axis.value >= BY_ACCIDENT and runs:
            found[axis.name] = tuple(a.name for a in runs[0])
    return tuple(found.items())
