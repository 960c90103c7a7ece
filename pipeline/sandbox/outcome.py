"""What a run gives: an answer, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal[
    "timeout", "cpu_limit", "memory_limit", "crash", "no_result",
    "output_limit", "bad_result", "worker_error", "server_lost",
]  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """The worker's answer.

    Without a `judge` in the worker it comes out of the process in which the crawled program ran:
    data of that program, to be checked like any other.
    """

    value: dict[str, Any]
    """What `handle` (or `judge`) returned; tensors as `RawTensor`."""
    stdout: str
    """What was printed, stdout and stderr in one, cut at `Limits.output_kb`."""
    seconds: float
    """By the clock, from the fork to the answer."""
    sandbox_level: str


@dataclass(frozen=True)
class Fault:
    """Why there is no answer."""

    reason: Reason
    """
    timeout: the wall clock ran out.
    cpu_limit: the CPU seconds ran out.
    memory_limit: an allocation failed, or the processes together grew too large.
    crash: ended by a signal, e.g. a segmentation fault.
    no_result: ended by itself without an answer, e.g. `os._exit(0)`.
    output_limit: printed without end.
    bad_result: an answer that isn't one: unreadable, too large, not written by the worker.
    worker_error: `handle` or `judge` raised.
    server_lost: the fork server died or hung; the next run starts another.
    """
    detail: str
    """One line for a person, or a traceback."""
    stdout: str
    seconds: float
    sandbox_level: str
