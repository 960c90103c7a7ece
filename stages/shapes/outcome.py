"""From a row to what is checked, and from what was verified to the row's outcome."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.stage import Failed, Kept, Outcome, Removed, Row
from stages.shapes.roles import axes_of
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Problem, Rejection
from stages.shapes.table import read_table
from stages.shapes.verify import CouldNotTell, Verified, Verifier, shape_id

TABLE = Path("shapes") / "sizes.toml"


def verifier_of(row: Row, settings: ShapesSettings, data: Path, minimum_sandbox: str) -> Verifier:
    """Who checks the settings of one problem."""
    table = read_table(data / TABLE)
    problem = problem_of(row)
    axes = axes_of(problem.code, problem.sizes, table)
    return Verifier(
        problem,
        table.targets[settings.target],
        table.targets["cpu"],
        settings,
        minimum_sandbox,
        frozenset(axis.name for axis in axes if axis.role == "batch"),
    )


def problem_of(row: Row) -> Problem:
    return Problem(
        code=row["code"],
        sizes={size["name"]: size["value"] for size in row["sizes"]},
        flops=row["flops"],
        flops_matrix=row["flops_matrix"],
        bytes_unfused=row["bytes_unfused"],
        working_set=row["working_set"],
        ops={op["op"]: op["count"] for op in row["ops"]},
        tolerance=(row["atol"], row["rtol"]),
    )


def outcome_of(
    verified: Sequence[Verified],
    rejections: Sequence[Rejection],
    settings: ShapesSettings,
    suggested_by: str,
) -> Outcome:
    """Kept with its shapes, or removed where there are too few."""
    if len(verified) < settings.least:
        return Removed(
            "no_verified_shape",
            _why(rejections),
            metric="shapes",
            value=float(len(verified)),
            threshold=float(settings.least),
        )
    return Kept({"shapes": [_shape(v, suggested_by) for v in verified]})


def could_not_tell(error: CouldNotTell) -> Failed:
    return Failed(error.fault.reason, error.fault.detail[-500:])


def _shape(verified: Verified, suggested_by: str) -> dict[str, Any]:
    suggestion, facts = verified.suggestion, verified.facts
    return {
        "shape_id": shape_id(suggestion.sizes),
        "name": suggestion.name,
        "sizes": [{"name": n, "value": v} for n, v in suggestion.sizes.items()],
        "working_set": facts["working_set"],
        "flops": facts["flops"],
        "bytes_fused": facts["bytes_fused"],
        "held_out": suggestion.held_out,
        "reason": suggestion.reason,
        "suggested_by": suggestion.by or suggested_by,
    }


def _why(rejections: Sequence[Rejection]) -> str:
    """The last word on each setting, for the ledger."""
    last = {r.suggestion.name: f"{r.suggestion.name}: {r.reason} ({r.detail})" for r in rejections}
    return "; ".join(last.values())[:500]
