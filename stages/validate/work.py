"""One problem after the other: read, run in the sandbox, ask the gates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.sandbox import Fault, Limits, Reply, Surroundings, shared_sandbox
from pipeline.sandbox.decision import decided
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from pipeline.tracing.bundle import bundled
from stages.validate.gates import Flag, Reject, check_text, verdicts
from stages.validate.gates.tolerance import tolerance_of
from stages.validate.settings import ValidateSettings

WORKER = Path(__file__).with_name("worker.py")
WITNESS = Path(__file__).with_name("witness.py")
WITNESSES = {
    "witness": Surroundings(hash_seed=1, soiled_memory=True),
    "witness_of_same_seed": Surroundings(soiled_memory=True),
}
"""Whom to ask for the result as well; the second only where the first one's differs."""


def validate(
    batch: Sequence[Row], settings: ValidateSettings, place: Workplace
) -> list[list[Outcome]]:
    """One outcome for each program."""
    return [[_validate_one(row["code"], settings, place)] for row in batch]


def _validate_one(code: str, settings: ValidateSettings, place: Workplace) -> Outcome:
    for verdict in check_text(code):
        if isinstance(verdict, Reject):
            return _removed(verdict)
    limits = settings.limits()
    reply = shared_sandbox(bundled(WORKER), minimum=place.minimum_sandbox).run(
        {"code": code}, limits
    )
    if isinstance(reply, Fault):
        return decided(reply, limits)
    seen = reply.value
    if "fault" in seen:
        return Removed(seen["fault"], seen["detail"])
    heard = _ask_witnesses(code, seen["digest"], limits, place)
    if isinstance(heard, Failed):
        return heard
    return _decide(seen | heard | {"printed": bool(reply.stdout.strip())}, reply, settings)


def _ask_witnesses(
    code: str, digest: str, limits: Limits, place: Workplace
) -> dict[str, str] | Failed:
    """The digest of the result in another process, and where it differs, in one more."""
    heard: dict[str, str] = {}
    for name, surroundings in WITNESSES.items():
        sandbox = shared_sandbox(
            bundled(WITNESS), minimum=place.minimum_sandbox, surroundings=surroundings
        )
        reply = sandbox.run({"code": code}, limits)
        if isinstance(reply, Fault):
            return Failed(reply.reason, f"second process: {reply.detail}"[:500])
        heard[name] = reply.value["digest"]
        if heard[name] == digest:
            break
    return dict.fromkeys(WITNESSES, digest) | heard


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
