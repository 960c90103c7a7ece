"""A limit that was reached is a decision with the limit as evidence; anything else is unknown."""

import pytest

from pipeline.sandbox import Fault, Limits
from pipeline.sandbox.decision import decided
from pipeline.stage import Failed, Removed

LIMITS = Limits(cpu_s=7, memory_mb=512, output_kb=16)


def fault(reason: str, detail: str = "") -> Fault:
    return Fault(reason, detail, "", 0.0, "process")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "unit", "bound"),
    [("cpu_limit", "seconds", 7.0), ("memory_limit", "MiB", 512.0), ("output_limit", "KiB", 16.0)],
)
def test_the_evidence_is_the_limit_and_not_what_was_observed(
    reason: str, unit: str, bound: float
) -> None:
    one, other = (decided(fault(reason, f"used {n}"), LIMITS, name="Gate") for n in (9, 11))
    assert one == other
    assert isinstance(one, Removed)
    assert (one.metric, one.value, one.threshold, one.name) == (unit, bound, bound, "Gate")


@pytest.mark.parametrize("reason", ["timeout", "crash", "server_lost", "worker_error"])
def test_what_could_have_gone_well_another_time_is_failed(reason: str) -> None:
    outcome = decided(fault(reason, "Traceback\n  line 1\nKeyError: 'x'\n"), LIMITS)
    assert outcome == Failed(reason, "KeyError: 'x'")


def test_a_stage_may_blame_the_program_for_more() -> None:
    outcome = decided(fault("no_result", "left"), LIMITS, blamed=frozenset(["no_result"]))
    assert outcome == Removed("no_result", "left")
