"""What changed against the release before: told in the card, so that nobody has to ask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.report.reading import read_release
from pipeline.stage import History

SOURCE_GONE = "no longer among its source's problems"


@dataclass(frozen=True)
class Changes:
    """This release seen from the one before."""

    before: int  # rows of the release before
    added: int
    gone: Sequence[tuple[str, int]]  # (why, how many rows)
    relabelled: int  # rows whose level is another
    recipe: str  # of the release before


def changes(table: pa.Table, history: History) -> Changes | None:
    """None if this is the first release of its store."""
    if history.previous is None:
        return None
    previous = read_release(history.previous)
    old = _levels(previous.rows)
    new = _levels(table)
    reasons = _reasons(history)
    gone = Counter(reasons.get(key, SOURCE_GONE) for key in old if key not in new)
    return Changes(
        before=len(old),
        added=sum(key not in old for key in new),
        gone=sorted(gone.items(), key=lambda pair: (-pair[1], pair[0])),
        relabelled=sum(new[key] != level for key, level in old.items() if key in new),
        recipe=str((previous.recipe or {}).get("name", "unknown")),
    )


def _levels(table: pa.Table) -> dict[str, str]:
    return dict(zip(table["problem_id"].to_pylist(), table["level"].to_pylist(), strict=True))


def _reasons(history: History) -> dict[str, str]:
    return {
        row["row_id"]: f"{outcome} by {row['stage']}: {row['reason']}"
        for outcome, ledger in (("removed", history.removed), ("failed", history.failed))
        for row in ledger.select(["row_id", "stage", "reason"]).to_pylist()
    }
