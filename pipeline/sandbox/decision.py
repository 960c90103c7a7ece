"""What a stage makes of a Fault: a decision where a stated limit was reached, else nothing is known.

Not imported by the package itself: the sandbox knows nothing of stages.
"""

from collections.abc import Set

from pipeline.stage import Failed, Removed

from .inside.limits import Limits
from .outcome import Fault, Reason

OVER_LIMIT = "needed more than the limit"  # how much is an observation; the decision is not
LONGEST_DETAIL = 300


def decided(
    fault: Fault, limits: Limits, *, blamed: Set[Reason] = frozenset(), name: str = ""
) -> Removed | Failed:
    """Removed, with the limit as evidence, or Failed, to be tried again.

    Args:
        limits: those of the run.
        blamed: reasons beyond the limits that the stage holds against the program.
        name: of the unit, where a row gives many.
    """
    bounds = {
        "cpu_limit": ("seconds", limits.cpu_s),
        "memory_limit": ("MiB", limits.memory_mb),
        "output_limit": ("KiB", limits.output_kb),
    }
    if fault.reason in bounds:
        unit, bound = bounds[fault.reason]
        return Removed(
            fault.reason,
            OVER_LIMIT,
            metric=unit,
            value=float(bound),
            threshold=float(bound),
            name=name,
        )
    lines = fault.detail.strip().splitlines() or [""]  # of a traceback the last line says it
    detail = lines[-1][:LONGEST_DETAIL]
    kind = Removed if fault.reason in blamed else Failed
    return kind(fault.reason, detail, name=name)
