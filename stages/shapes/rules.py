"""The rule-based suggester: real models' sizes for the axes, and a batch solved for the time.

Each setting starts from the table's wish and is amended by what the check said: too slow or too
large shrinks the data axes, too fast grows them, an error gives up one degree of freedom after the
other: first odd lengths become odd multiples of the author's, then widths stay as the author has
them, then only the batch is changed, and last everything but the batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stages.shapes.roles import Axis, axes_of
from stages.shapes.suggestion import Problem, Rejection, Suggestion
from stages.shapes.table import Setting, Table, Target

MOST_BATCH = 2**18
MOST_CORRECTION = 16.0
CAUTION = 5  # after that many errors nothing is left to give up


@dataclass(frozen=True)
class Rules:
    """See the module."""

    table: Table
    target: Target
    name: str = "rules-v1"

    def suggest(self, problem: Problem, rejections: Sequence[Rejection]) -> list[Suggestion]:
        axes = axes_of(problem.code, problem.sizes, self.table)
        suggestions = []
        for setting in self.table.settings:
            mine = [r for r in rejections if r.suggestion.name == setting.name]
            if rejections and not mine:
                continue
            sizes = self._sizes(problem, axes, setting, mine)
            if sizes is not None:
                suggestions.append(
                    Suggestion(setting.name, sizes, setting.reason, setting.held_out)
                )
        return suggestions

    def _sizes(
        self, problem: Problem, axes: list[Axis], setting: Setting, mine: list[Rejection]
    ) -> dict[str, int] | None:
        """The sizes for one setting, or None where nothing new can be tried."""
        tried = [dict(rejection.suggestion.sizes) for rejection in mine]
        errors = sum(rejection.reason == "does_not_run" for rejection in mine)
        growing = any(rejection.reason == "too_fast" for rejection in mine)
        for given_up in range(errors, CAUTION):
            sizes = self._wish(axes, setting, given_up)
            budget = self._budget(problem, axes, setting, sizes)
            for rejection in mine:
                budget *= self._correction(rejection, setting)
            sizes = _spend(sizes, axes, setting, budget, given_up, growing)
            if sizes not in (*tried, dict(problem.sizes)):
                return sizes
        return None

    def _wish(self, axes: list[Axis], setting: Setting, errors: int) -> dict[str, int]:
        """Every axis at the table's size, all batches at one."""
        factor = self._width_factor(axes, setting) if errors < 2 else 1
        sizes = {}
        for axis in axes:
            size = axis.value
            if axis.kind == "width":
                size = axis.value * factor
            elif axis.kind == "vocabulary" and errors < 2:
                size = max(axis.value, self._scaled(setting.vocabulary))
            elif axis.kind == "data" and axis.role == "batch":
                size = axis.value if errors == 4 else setting.batch or 1
            elif axis.kind == "data" and errors != 3:
                wish = setting.spatial if axis.role == "spatial" else setting.sequence
                size = _length(axis.value, self._scaled(wish), setting.odd, errors)
            sizes[axis.name] = size
        return sizes

    def _width_factor(self, axes: list[Axis], setting: Setting) -> int:
        """One factor for all widths: the widest is to come near a real model's."""
        widest = max((a.value for a in axes if a.kind == "width"), default=0)
        if widest == 0:
            return 1
        wish = self._scaled(setting.width)
        return max(1, round(wish / widest))

    def _scaled(self, size: int) -> int:
        return max(1, round(size * self.target.scale))

    def _budget(
        self, problem: Problem, axes: list[Axis], setting: Setting, sizes: dict[str, int]
    ) -> float:
        """How many times the wish, at batch one, fits into the setting's time."""
        data = math.prod(sizes[a.name] / a.value for a in axes if a.kind == "data")
        width = max((sizes[a.name] / a.value for a in axes if a.kind == "width"), default=1.0)
        base = self.target.milliseconds(
            round(problem.flops * width * data),
            round(problem.flops_matrix * width * width * data),
            round(problem.bytes_unfused * width * data),
        )
        return setting.ms / base if base > 0 else 1.0

    def _correction(self, rejection: Rejection, setting: Setting) -> float:
        """By which factor a rejection changes what may be spent.

        Never by much at once: cost may grow with a power of an axis.
        """
        match rejection.reason:
            case "too_slow" if rejection.milliseconds:
                factor = setting.ms / rejection.milliseconds
            case "too_fast" if rejection.milliseconds:
                wish = setting.ms if setting.batch is None else 4 * self.target.least_ms
                factor = max(2.0, wish / rejection.milliseconds)
            case "too_large" if rejection.working_set:
                factor = 0.7 * self.target.most_working_set / rejection.working_set
            case "too_slow" | "too_large":
                factor = 0.25
            case "not_distinct":
                factor = 2.0
            case _:
                factor = 1.0
        return min(MOST_CORRECTION, max(1 / MOST_CORRECTION, factor))


def _spend(
    sizes: dict[str, int],
    axes: list[Axis],
    setting: Setting,
    budget: float,
    errors: int,
    growing: bool,
) -> dict[str, int]:
    """Grows the batch by the budget; below one, shrinks the lengths."""
    sizes = dict(sizes)
    batches = [a for a in axes if a.kind == "data" and a.role == "batch"]
    lengths = [a for a in axes if a.kind == "data" and a.role != "batch"]
    if errors == 4:
        pass
    elif batches and (setting.batch is None or (growing and not lengths)):
        first = batches[0]
        unit = setting.batch_unit
        wanted = min(MOST_BATCH, max(setting.least_batch, unit * _power(budget / unit)))
        sizes[first.name] = wanted | 1 if setting.odd else wanted
        budget /= sizes[first.name]
        for other in batches[1:]:  # equal author's values are one axis under two names
            same = other.value == first.value
            sizes[other.name] = sizes[first.name] if same else other.value
    elif setting.batch is not None:
        for axis in batches:
            sizes[axis.name] = setting.batch
    if lengths and (budget < 0.5 or (budget > 2 and errors == 0)):
        factor = budget ** (1 / len(lengths))
        for axis in lengths:
            sizes[axis.name] = _length(
                axis.value, max(1, round(sizes[axis.name] * factor)), setting.odd, errors
            )
    return sizes


def _length(base: int, wish: int, odd: bool, errors: int) -> int:
    """A length near the wish: a multiple of the author's, so that patches and windows fit.

    An odd setting first tries a length that nothing divides, then an odd multiple of the author's.
    """
    if odd and errors == 0:
        return max(wish - 1, 3) | 1
    multiple = max(1, round(wish / base))
    if odd and multiple > 1:
        multiple = (multiple - 1) | 1 if multiple > 2 else 3
    return base * multiple


def _power(value: float) -> int:
    return 1 if value < 1 else int(2 ** round(math.log2(min(value, MOST_BATCH))))
