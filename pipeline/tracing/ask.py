"""The caller's side: the facts of a program at its own sizes, traced in the sandbox."""

from pathlib import Path
from typing import Any

from pipeline.sandbox import Fault, Limits, Reply, shared_sandbox
from pipeline.tracing.bundle import bundled

WORKER = Path(__file__).with_name("worker.py")


def trace(
    code: str,
    *,
    fake: bool = True,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
) -> dict[str, Any] | Fault:
    """Facts of one forward: see `pipeline/tracing/facts.py`; or {"fault", "detail"}; or a Fault.

    Args:
        code: a program.
        fake: trace with fake tensors: no memory, no arithmetic, any size. Programs that look into
            a tensor give the fault `needs_data`; trace those really, at small sizes.
        limits: of the run in the sandbox.
        minimum: the lowest sandbox level that will do.
    """
    reply = shared_sandbox(bundled(WORKER), minimum=minimum).run(
        {"code": code, "fake": fake}, limits
    )
    return reply.value if isinstance(reply, Reply) else reply
