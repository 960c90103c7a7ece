"""Sizes near the author's, for settings that the wish for a real model's sizes could not fill.

The author's own sizes run, so something near them should too, at a cost that can be told from the
author's. Near in one of several ways, because nobody knows which constants the program ties together
(a literal in its code, the length of a table, the windows of an image):

- `data`: batch and lengths, lengths by whole multiples or parts of the author's;
- `batch`: the batch alone;
- `lengths`: lengths alone;
- `free`: lengths that nothing divides, for `odd`;
- `tied`: constants of equal value move together, whatever they count;
- `narrow`, `wide`: widths by halves or doubles as well;
- `each`: one constant alone.

Candidates come a handful at a time, the likeliest of each way first; rejections correct the estimate.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from stages.shapes.knobs import Knobs, knobs_of
from stages.shapes.suggestion import Problem, Rejection, Suggestion, distinct
from stages.shapes.table import Setting, Table, Target

NAME = "nearby-v1"
STEPS = tuple(
    Fraction(step) for step in ("1", "1/2", "2", "1/4", "4", "1/8", "3", "3/2", "8", "1/16")
)
"""Factors of lengths, likeliest first."""
ONE = Fraction(1)
NARROW, WIDE = (Fraction(1, 2), Fraction(1, 4)), (Fraction(2), Fraction(4))

MOST_BATCH = 2**18
SHARE = 0.5  # of the time window and 0.7 of the memory is the most that is wished for
ROOM = 0.7
SLACK = 4.0  # an estimate may lie so far outside the limits: it is only an estimate
A_STEP = 0.35  # how much a step away from the author's lengths weighs, against ln(cost / wish)
CHEAPER = 8.0  # what a rejection that gives no figures does to the estimate


@dataclass(frozen=True)
class Candidate:
    """Sizes, how they were found, and how far they are from the wish."""

    way: str
    sizes: Mapping[str, int]
    cost: float  # times the author's, by rule of thumb
    penalty: float


@dataclass
class Nearby:
    """Candidates for the settings of one problem; keeps what was tried and learned."""

    problem: Problem
    table: Table
    target: Target
    room: int  # bytes that may be alive at once
    _tried: dict[str, list[dict[str, int]]] = field(default_factory=dict)  # by setting
    _origins: dict[tuple[tuple[str, int], ...], Candidate] = field(default_factory=dict)
    _corrections: dict[str, float] = field(default_factory=dict)  # by way: true / estimated cost

    def suggest(
        self, setting: Setting, taken: Sequence[Mapping[str, int]], most: int
    ) -> list[Suggestion]:
        """At most so many new candidates for a setting, distinct from the sizes that are taken."""
        tried = self._tried.setdefault(setting.name, [])
        chosen: list[Suggestion] = []
        for candidate in self._ranked(setting):
            if len(chosen) >= most:
                break
            sizes = dict(candidate.sizes)
            if sizes in tried or not all(distinct(sizes, other) for other in taken):
                continue
            tried.append(sizes)
            self._origins[tuple(sizes.items())] = candidate
            reason = setting.reason
            chosen.append(Suggestion(setting.name, sizes, reason, setting.held_out, by=NAME))
        return chosen

    def learn(self, rejection: Rejection) -> None:
        """Corrects the estimate of the way that led to rejected sizes."""
        candidate = self._origins.get(tuple(rejection.suggestion.sizes.items()))
        if candidate is None:
            return
        if rejection.milliseconds is not None and rejection.working_set is not None:
            slower = rejection.milliseconds / self._author_ms
            larger = rejection.working_set / max(1, self.problem.working_set)
            self._corrections[candidate.way] = max(slower, larger) / candidate.cost
        elif rejection.reason in ("too_slow", "too_large", "trivial"):
            before = self._corrections.get(candidate.way, 1.0)
            self._corrections[candidate.way] = before * CHEAPER

    @cached_property
    def _knobs(self) -> Knobs:
        return knobs_of(self.problem, self.table)

    @cached_property
    def _author_ms(self) -> float:
        problem = self.problem
        ms = self.target.milliseconds(problem.flops, problem.flops_matrix, problem.bytes_unfused)
        return max(ms, 1e-6)

    def _ranked(self, setting: Setting) -> Iterator[Candidate]:
        """The best of each way, then the second best of each, and so on."""
        ways: dict[str, list[Candidate]] = {}
        for candidate in self._all(setting):
            ways.setdefault(candidate.way, []).append(candidate)
        ranked = [sorted(way, key=lambda c: c.penalty) for way in ways.values()]
        for place in range(max(map(len, ranked), default=0)):
            yield from (way[place] for way in ranked if place < len(way))

    def _all(self, setting: Setting) -> Iterator[Candidate]:
        knobs = self._knobs
        yield from self._turned("data", setting, knobs)
        if knobs.batch and knobs.lengths:
            yield from self._turned("batch", setting, Knobs(knobs.base, knobs.batch))
            lengths = Knobs(knobs.base, lengths=knobs.lengths, products=knobs.products)
            yield from self._turned("lengths", setting, lengths)
        if setting.odd and knobs.lengths:
            yield from self._turned("free", setting, knobs, free=True)
        if (tied := knobs.tied()) != knobs:
            yield from self._turned("tied", setting, tied)
        if knobs.widths:
            for width in NARROW:
                yield from self._turned("narrow", setting, knobs, width)
            for width in WIDE:
                yield from self._turned("wide", setting, knobs, width)
        for name in (*knobs.movable, *knobs.small):
            yield from self._turned("each", setting, knobs.only(name))

    def _turned(
        self, way: str, setting: Setting, knobs: Knobs, width: Fraction = ONE, *, free: bool = False
    ) -> Iterator[Candidate]:
        """For each factor of the lengths some batches near the wish."""
        scale = self._author_ms * self._corrections.get(way, 1.0)  # ms a unit of estimated cost
        room = self.room / max(1, self.problem.working_set) / self._corrections.get(way, 1.0)
        wish = min(setting.ms, SHARE * self.target.most_ms) / scale
        most = min(self.target.most_ms / scale, room) * SLACK
        # Below the window, and smaller than the author made it: nobody's size.
        least = min(self.target.least_ms / scale / SLACK, 1.0)
        for distance, step in enumerate(STEPS if knobs.lengths else STEPS[:1]):
            turned = knobs.turned(step, width, odd=setting.odd, free=free)
            if turned is None:
                continue
            fitting = min(wish, ROOM * room) / knobs.cost(turned)
            for batch in _batches(setting, fitting) if knobs.batch else (1,):
                sizes = knobs.with_batch(turned, batch)
                cost = knobs.cost(sizes)
                moved = sizes != dict(self.problem.sizes)
                if not moved or not least <= cost <= most:
                    continue
                if setting.odd and not _has_odd(sizes, self.problem.sizes):
                    continue
                penalty = abs(math.log(cost / wish)) + A_STEP * distance
                yield Candidate(way, sizes, cost, penalty)


def _batches(setting: Setting, fitting: float) -> Iterable[int]:
    """Batches near the one that fits, in the setting's form; one sample at the end."""
    near = max(1, int(min(fitting, MOST_BATCH)))
    if setting.odd:
        return dict.fromkeys((max(3, near | 1), max(1, near // 2) | 1, 1))
    unit = setting.batch_unit
    power = max(0, math.floor(math.log2(max(1.0, near / unit))))
    return dict.fromkeys((unit * 2**power, unit * 2 ** max(0, power - 1), near, 1))


def _has_odd(sizes: Mapping[str, int], base: Mapping[str, int]) -> bool:
    """Whether a size was made odd."""
    return any(size % 2 and size != base[name] for name, size in sizes.items())
