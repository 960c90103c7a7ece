"""Which rows may be drawn, and why the others may not."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kernelset.errors import MissingBaseline
from kernelset.problem import Problem
from pipeline.errors import UsageError

UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
WINDOW = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)-(\d+(?:\.\d+)?)(us|ms|s)")


@dataclass(frozen=True)
class Filters:
    """What a row must be like. None or empty: no matter."""

    levels: frozenset[str] | None = None
    source: str | None = None
    split: str | None = None  # of the release
    window_ms: tuple[float, float] | None = None  # both ends excluded, as in the paper
    device: str = ""  # whose times; may be left out where there is only one
    mode: str = "inductor"

    def plain(self) -> dict[str, object]:
        levels = sorted(self.levels) if self.levels else None
        window = list(self.window_ms) if self.window_ms else None
        return vars(self) | {"levels": levels, "window_ms": window}


def parse_window(text: str) -> tuple[float, float]:
    """Milliseconds from "1ms-1000ms", "500us-2s".

    Raises:
        UsageError: it is not so written, or empty.
    """
    match = WINDOW.fullmatch(text.replace(" ", ""))
    if not match:
        raise UsageError(f"runtime {text!r}: a window such as 1ms-1000ms; units: us, ms, s")
    low, high = float(match[1]) * UNITS_MS[match[2]], float(match[3]) * UNITS_MS[match[4]]
    if low >= high:
        raise UsageError(f"runtime {text!r}: nothing lies between")
    return low, high


def eligible(problems: Sequence[Problem], filters: Filters) -> tuple[list[Problem], dict[str, int]]:
    """The rows that may be drawn, and how many each filter left out.

    Raises:
        UsageError: times of several devices are there and none is named.
    """
    kept, left_out = [], Counter[str]()
    for problem in problems:
        reason = _against(problem, filters)
        if reason:
            left_out[reason] += 1
        else:
            kept.append(problem)
    return kept, dict(sorted(left_out.items()))


def _against(problem: Problem, filters: Filters) -> str | None:
    if filters.levels is not None and problem.level not in filters.levels:
        return "level"
    if filters.source and problem.row["source_name"] != filters.source:
        return "source"
    if filters.split and problem.split != filters.split:
        return "split"
    if all(shape.held_out for shape in problem.shapes):
        return "no_shape_to_train_on"
    if filters.window_ms is not None:
        low, high = filters.window_ms
        try:
            time_ms = problem.baseline(filters.device, mode=filters.mode).seconds * 1e3
        except MissingBaseline:
            return f"no_{filters.mode}_time"
        if not low < time_ms < high:
            return "runtime"
    return None
