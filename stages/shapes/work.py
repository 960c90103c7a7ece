"""One problem after the other: suggest, check, tell why not, suggest again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.source.canonical import digest
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from stages.shapes.roles import axes_of
from stages.shapes.rules import Rules
from stages.shapes.search import search
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Problem, Rejection, Suggester
from stages.shapes.table import read_table
from stages.shapes.verify import CouldNotTell, Verified, Verifier, shape_id

TABLE = Path("shapes") / "sizes.toml"


def suggest_shapes(
    batch: Sequence[Row], settings: ShapesSettings, place: Workplace
) -> list[list[Outcome]]:
    """One outcome for each problem: its verified shapes, or removal where none was verified."""
    table = read_table(place.data / TABLE)
    suggester = Rules(table, table.targets[settings.target])
    return [[_shape_one(row, suggester, settings, place)] for row in batch]


def identity(settings: ShapesSettings, data: Path) -> Mapping[str, str]:
    """The table decides as much as the code does."""
    return {"sizes.toml": digest((data / TABLE).read_text())}


def _shape_one(
    row: Row, suggester: Suggester, settings: ShapesSettings, place: Workplace
) -> Outcome:
    table = read_table(place.data / TABLE)
    problem = _problem(row)
    verifier = Verifier(
        problem,
        table.targets[settings.target],
        table.targets["cpu"],
        settings,
        place.minimum_sandbox,
        frozenset(
            axis.name
            for axis in axes_of(problem.code, problem.sizes, table)
            if axis.role == "batch"
        ),
    )
    try:
        verified, rejections = search(problem, suggester, verifier, settings.rounds)
    except CouldNotTell as error:
        return Failed(error.fault.reason, error.fault.detail[-500:])
    if len(verified) < settings.least:
        return Removed(
            "no_verified_shape",
            _why(rejections),
            metric="shapes",
            value=float(len(verified)),
            threshold=float(settings.least),
        )
    return Kept({"shapes": [_shape(v, suggester.name) for v in verified]})


def _problem(row: Row) -> Problem:
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
        "suggested_by": suggested_by,
    }


def _why(rejections: Sequence[Rejection]) -> str:
    """The last word on each setting, for the ledger."""
    last = {r.suggestion.name: f"{r.suggestion.name}: {r.reason} ({r.detail})" for r in rejections}
    return "; ".join(last.values())[:500]
