"""The work of the distinct stage."""

from collections import Counter
from collections.abc import Sequence

from pipeline.source.ranking import rank
from pipeline.source.shares import check_shares
from pipeline.stage import Kept, Outcome, Removed, Row, Workplace
from pipeline.tracing.ops import COPIES, CREATIONS, VIEWS
from stages.distinct.settings import DistinctSettings

REASON = "same_computation"
_NO_WORK = VIEWS | COPIES | CREATIONS  # how often these stand there is a matter of style

Computation = tuple[str, frozenset[tuple[str, int]]]


def distinct(
    rows: Sequence[Row], settings: DistinctSettings, workplace: Workplace
) -> list[Outcome]:
    """One outcome per row: kept, or the same as a kept one."""
    if not settings.remove:
        return [Kept({}) for _ in rows]
    wanted = sorted(rows, key=lambda row: rank(row, row["copies"]))
    first: dict[Computation, str] = {}
    for row in wanted:
        if row["graph_sha256"]:
            first.setdefault(computation(row), row["problem_id"])
    outcomes = [_outcome(row, first) for row in rows]
    check_shares(
        rows,
        outcomes,
        stage="distinct",
        reason=REASON,
        most=settings.max_share_of_source,
        from_rows=settings.guard_from_rows,
    )
    return outcomes


def computation(row: Row) -> Computation:
    """The traced graph, with how often each operation that does work is called."""
    counts: Counter[str] = Counter()
    for item in row["ops"]:
        name = _base_name(item["op"])
        if name not in _NO_WORK:
            counts[name] += item["count"]
    return row["graph_sha256"], frozenset(counts.items())


def _outcome(row: Row, first: dict[Computation, str]) -> Outcome:
    kept = first.get(computation(row)) if row["graph_sha256"] else None
    if kept is None or kept == row["problem_id"]:
        return Kept({})
    return Removed(
        REASON,
        f"the same graph and operations as {kept}",
        matched_id=kept,
        metric="graph_equal",
        value=1.0,
        threshold=1.0,
    )


def _base_name(op: str) -> str:
    """`aten.add_.Tensor` → `add`: in place or not is one operation."""
    name = op.split(".")[1] if op.startswith("aten.") else op
    return name if name.endswith("__") else name.removesuffix("_")
