"""The caller's side: the facts of a program at its own sizes, traced in the sandbox."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.sandbox import Fault, Limits, Reply, shared_sandbox
from pipeline.tracing.bundle import bundled

MOST_CALLS = 10_000
WORKER = Path(__file__).with_name("worker.py")


def trace_all(
    codes: Sequence[str],
    *,
    fake: bool = True,
    most_calls: int = MOST_CALLS,
    tolerance: tuple[float, float] | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
) -> list[dict[str, Any]] | Fault:
    """What `trace` says of each program, from one child: a fork costs more than a small trace.

    A Fault says nothing about which of them caused it; ask for each alone then.
    """
    reply = shared_sandbox(bundled(WORKER), minimum=minimum).run(
        {
            "codes": list(codes),
            "fake": fake,
            "most_calls": most_calls,
            "tolerance": list(tolerance) if tolerance else None,
        },
        limits,
    )
    if not isinstance(reply, Reply):
        return reply
    answers = reply.value.get("answers")
    if not isinstance(answers, list) or len(answers) != len(codes):
        return Fault("bad_result", "not one answer for each program", "", 0.0, "")
    return answers


def trace(
    code: str,
    *,
    fake: bool = True,
    most_calls: int = MOST_CALLS,
    tolerance: tuple[float, float] | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
) -> dict[str, Any] | Fault:
    """Facts of one forward: see `pipeline/tracing/facts.py`; or {"fault", "detail"}; or a Fault.

    Args:
        code: a program.
        fake: trace with fake tensors: no memory, no arithmetic, any size. Programs that look into
            a tensor give the fault `needs_data`; trace those really, at small sizes.
        most_calls: a forward with more operations gives the fault `too_many_ops`.
        tolerance: (atol, rtol) of a right answer; a real run then says whether it `tells_apart`
            the answers to two inputs.
        limits: of the run in the sandbox.
        minimum: the lowest sandbox level that will do.
    """
    answers = trace_all(
        [code],
        fake=fake,
        most_calls=most_calls,
        tolerance=tolerance,
        limits=limits,
        minimum=minimum,
    )
    return answers if isinstance(answers, Fault) else answers[0]
