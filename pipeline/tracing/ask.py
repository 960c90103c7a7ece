"""The caller's side: the facts of a program at its own sizes, traced in the sandbox."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pipeline.sandbox import Fault, Limits, Reply, shared_sandbox
from pipeline.tracing.bundle import bundled

MOST_CALLS = 10_000
Kind = Literal["fake", "real", "run"]
WORKER = Path(__file__).with_name("worker.py")


def trace_all(
    codes: Sequence[str],
    *,
    kind: Kind = "fake",
    most_calls: int = MOST_CALLS,
    tolerance: tuple[float, float] | None = None,
    known: Mapping[str, Any] | None = None,
    quick: bool | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
) -> list[dict[str, Any]] | Fault:
    """What `trace` says of each program, from one child: a fork costs more than a small trace.

    A Fault says nothing about which of them caused it; ask for each alone then.
    """
    reply = shared_sandbox(bundled(WORKER), minimum=minimum).run(
        {
            "codes": list(codes),
            "kind": kind,
            "most_calls": most_calls,
            "tolerance": list(tolerance) if tolerance else None,
            "known": dict(known) if known else None,
            "quick": quick,
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
    kind: Kind = "fake",
    most_calls: int = MOST_CALLS,
    tolerance: tuple[float, float] | None = None,
    known: Mapping[str, Any] | None = None,
    quick: bool | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
) -> dict[str, Any] | Fault:
    """Facts of one forward: see `pipeline/tracing/facts.py`; or {"fault", "detail"}; or a Fault.

    Args:
        code: a program.
        kind: `fake` traces with fake tensors: no memory, no arithmetic, any size. Programs that look
            into a tensor give the fault `needs_data`; trace those with `real`, at small sizes.
            `run` only runs: no facts, but whether the results are `finite`.
        most_calls: a forward with more operations gives the fault `too_many_ops`.
        tolerance: (atol, rtol) of a right answer; `real` and `run` then say whether it `tells_apart`
            the answers to two inputs.
        known: {"code", "facts"} of the same program at sizes for which facts are known; `fake` may then
            trace with meta tensors, which is quicker, if they give these facts.
        quick: what `quick` in an earlier answer for the same program said; spares the comparison.
        limits: of the run in the sandbox.
        minimum: the lowest sandbox level that will do.
    """
    answers = trace_all(
        [code],
        kind=kind,
        most_calls=most_calls,
        tolerance=tolerance,
        known=known,
        quick=quick,
        limits=limits,
        minimum=minimum,
    )
    return answers if isinstance(answers, Fault) else answers[0]
