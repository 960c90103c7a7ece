"""What a gate says, and the one kind of function that a gate is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Seen = Mapping[str, Any]
"""What the worker told about a program; keys as in `stages/validate/worker.py`."""


@dataclass(frozen=True)
class Reject:
    """The program is no problem worth training on."""

    reason: str
    detail: str = ""
    metric: str | None = None
    value: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Flag:
    """Worth knowing, no reason to reject."""

    note: str


Verdict = Reject | Flag


@dataclass(frozen=True)
class Gate:
    """One rule. `policy` is bumped when the rule or its threshold changes."""

    name: str
    policy: int
    check: Callable[[Seen], Iterator[Verdict]]


def listed(names: list[Any], most: int = 5) -> str:
    """The first few names, for a detail line."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
