"""One problem after the other: read, run in the sandbox, ask the gates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.sandbox import Fault, Limits, Reply, shared_sandbox
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from pipeline.tracing.bundle import bundled
from stages.validate.gates import Flag, Reject, check_source, verdicts
from stages.validate.gates.tolerance import tolerance_of
from stages.validate.settings import ValidateSettings

WORKER = Path(__file__).with_name("worker.py")
WITNESS = Path(__file__).with_name("witness.py")
OVER_LIMIT = "needed more than the limit"  # how much is an observation; the decision is not
LIMIT_UNITS = {"cpu_limit": "seconds", "memory_limit": "MiB", "output_limit": "KiB"}


def validate(
    batch: Sequence[Row], settings: ValidateSettings, place: Workplace
) -> list[list[Outcome]]:
    """One outcome for each program."""
    return [[_validate_one(row["code"], settings, place)] for row in batch]


def _validate_one(code: str, settings: ValidateSettings, place: Workplace) -> Outcome:
    for verdict in check_source(code):
        if isinstance(verdict, Reject):
            return _removed(verdict)
    limits = settings.limits()
    reply = shared_sandbox(bundled(WORKER), minimum=place.minimum_sandbox).run(
        {"code": code}, limits
    )
    if isinstance(reply, Fault):
        return _fault(reply, limits)
    seen = reply.value
    if "fault" in seen:
        return Removed(seen["fault"], seen["detail"])
    witness = shared_sandbox(bundled(WITNESS), minimum=place.minimum_sandbox).run(
        {"code": code}, limits
    )
    if isinstance(witness, Fault):
        return Failed(witness.reason, f"second process: {witness.detail}"[:500])
    seen |= {"witness": witness.value["digest"], "printed": bool(reply.stdout.strip())}
    return _decide(seen, reply, settings)


def _decide(seen: dict[str, Any], reply: Reply, settings: ValidateSettings) -> Outcome:
    said = verdicts(seen)
    rejections = [v for v in said if isinstance(v, Reject) and v.reason not in settings.flag_only]
    if rejections:
        return _removed(rejections[0])
    # A rejection that the recipe has turned into a flag keeps its name.
    flags = {v.note if isinstance(v, Flag) else v.reason for v in said}
    tolerance = tolerance_of(seen)
    return Kept(
        {
            "sandbox_level": reply.sandbox_level,
            "ops": [{"op": op, "count": count} for op, count in seen["ops"]],
            "graph_sha256": seen["graph_sha256"],
            "parameters": seen["parameters"],
            "flops": seen["flops"],
            "flops_matrix": seen["flops_matrix"],
            "bytes_fused": seen["bytes_fused"],
            "bytes_unfused": seen["bytes_unfused"],
            "working_set": seen["working_set"],
            "outputs": seen["outputs"],
            "dtypes": seen["dtypes"],
            "output_scale": seen["output_scale"],
            "atol": tolerance.atol,
            "rtol": tolerance.rtol,
            "atol_bf16": tolerance.atol_bf16,
            "rtol_bf16": tolerance.rtol_bf16,
            "flags": sorted(flags),
        }
    )


def _removed(verdict: Reject) -> Removed:
    return Removed(
        verdict.reason,
        verdict.detail,
        metric=verdict.metric,
        value=None if verdict.value is None else float(verdict.value),
        threshold=None if verdict.threshold is None else float(verdict.threshold),
    )


def _fault(fault: Fault, limits: Limits) -> Outcome:
    """A stated limit that was reached is a decision; anything else leaves us not knowing."""
    bounds = {
        "cpu_limit": limits.cpu_s,
        "memory_limit": limits.memory_mb,
        "output_limit": limits.output_kb,
    }
    if fault.reason in bounds:
        bound = float(bounds[fault.reason])
        metric = LIMIT_UNITS[fault.reason]
        return Removed(fault.reason, OVER_LIMIT, metric=metric, value=bound, threshold=bound)
    return Failed(fault.reason, fault.detail[-500:])
