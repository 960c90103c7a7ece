"""What changed between two releases: rows, reasons, funnel and distributions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from pipeline.errors import UsageError
from pipeline.files import read_json, read_table
from pipeline.release import check_release

WATCHED = ("level", "source_name", "licence")  # columns whose distribution is compared
OBSERVED = frozenset({"baselines", "split"})  # differ without the problem having changed


@dataclass(frozen=True)
class Difference:
    """Release B seen from release A."""

    added: list[str]
    gone: dict[str, str]  # problem_id → why: the reason in B's ledger, or "source gone"
    changed: dict[str, list[str]]  # problem_id → columns that differ
    funnel: dict[str, dict[str, int]]  # stage → outcome → rows in B minus rows in A
    shares: dict[str, dict[str, tuple[int, int]]]  # column → value → (rows in A, rows in B)

    @property
    def empty(self) -> bool:
        return not (self.added or self.gone or self.changed)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def compare(old: Path, new: Path) -> Difference:
    """Compares two releases.

    Raises:
        UsageError: one of them is no release.
        StoreError: one of them is damaged or was changed by hand.
    """
    rows = [_rows(folder) for folder in (old, new)]
    before, after = ({row["problem_id"]: row for row in side} for side in rows)
    reasons = _reasons(new)
    return Difference(
        added=sorted(set(after) - set(before)),
        gone={
            key: reasons.get(key, "no longer among its source's problems")
            for key in sorted(set(before) - set(after))
        },
        changed={
            key: columns
            for key in sorted(set(before) & set(after))
            if (columns := _changed_columns(before[key], after[key]))
        },
        funnel=_funnel(read_json(old / "manifest.json"), read_json(new / "manifest.json")),
        shares={
            column: _shares(
                Counter(row[column] for row in rows[0]), Counter(row[column] for row in rows[1])
            )
            for column in WATCHED
        },
    )


def print_difference(found: Difference, console: Console) -> None:
    console.print(f"{len(found.added)} added, {len(found.gone)} gone, {len(found.changed)} changed")
    for reason, count in Counter(found.gone.values()).most_common():
        console.print(f"  gone: {count} × {reason}", highlight=False)
    for columns, count in Counter(", ".join(c) for c in found.changed.values()).most_common(10):
        console.print(f"  changed: {count} × {columns}", highlight=False)
    table = Table(pad_edge=False)
    table.add_column("stage")
    for name in ("in", "kept", "removed", "failed"):
        table.add_column(name, justify="right")
    for stage, counts in found.funnel.items():
        table.add_row(stage, *(f"{counts[n]:+,}" for n in ("in", "kept", "removed", "failed")))
    console.print(table)
    for column, values in found.shares.items():
        moved = [f"{value} {a}→{b}" for value, (a, b) in values.items() if a != b]
        if moved:
            console.print(f"{column}: {', '.join(moved)}", highlight=False)


def _rows(folder: Path) -> list[dict[str, Any]]:
    if not (folder / "manifest.json").exists():
        raise UsageError(f"{folder}: no release there; list them with: kernelset releases")
    for part in ("data/", "ledger/"):
        check_release(folder, part)
    shards = sorted((folder / "data").glob("*.parquet"))
    if not shards:
        return []
    return list(pa.concat_tables([read_table(shard) for shard in shards]).to_pylist())


def _reasons(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("removed", "failed"):
        table = read_table(folder / "ledger" / f"{name}.parquet", ["row_id", "stage", "reason"])
        for row in table.to_pylist():
            found[row["row_id"]] = f"{name} by {row['stage']}: {row['reason']}"
    return found


def _changed_columns(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = sorted((set(old) | set(new)) - OBSERVED)
    return [name for name in names if old.get(name) != new.get(name)]


def _funnel(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    was = {stage["address"]["stage"]: stage["rows"] for stage in old["stages"]}
    return {
        (name := stage["address"]["stage"]): {
            outcome: count - was.get(name, {}).get(outcome, 0)
            for outcome, count in stage["rows"].items()
        }
        for stage in new["stages"]
    }


def _shares(old: Counter[str], new: Counter[str]) -> dict[str, tuple[int, int]]:
    return {value: (old[value], new[value]) for value in sorted(set(old) | set(new))}
