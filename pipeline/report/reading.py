"""A release as a value, from its folder or from the tables that are about to become one.

Reading is forgiving where a person looks and nothing is decided: a missing shard, column, ledger or
manifest becomes a sentence in `missing`, and what is there is shown.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.report.frames import exploded, frame
from pipeline.stage import History
from schemas.ledger import FAILED, REMOVED
from schemas.problem import RELEASED

SHARD = re.compile(r"(?P<split>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.parquet")

BASELINE_COLUMNS = (
    "shape_id", "mode", "device", "device_kind", "dtype", "tf32", "status",
    "median_ms", "relative_range", "floor_ms", "headroom", "intensity", "bound",
)  # fmt: skip
SHAPE_COLUMNS = ("shape_id", "name", "working_set", "flops", "bytes_fused", "held_out")


@dataclass(frozen=True)
class Release:
    """What a release holds. Every column of today's schema is there; unknown ones are null."""

    rows: pa.Table
    removed: pa.Table
    failed: pa.Table
    stages: Sequence[Mapping[str, Any]] = ()  # per stage: its address and its counts
    recipe: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()  # sentences: what could not be read

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One line a problem, without its nested columns."""
        nested = [f.name for f in self.rows.schema if pa.types.is_nested(f.type)]
        return frame(self.rows.drop_columns(nested))

    @cached_property
    def baselines(self) -> pd.DataFrame:
        """One line a measured time; `row` is the problem's place in `problems`."""
        return exploded(self.rows["baselines"], BASELINE_COLUMNS)

    @cached_property
    def shapes(self) -> pd.DataFrame:
        """One line a shape; `row` is the problem's place in `problems`."""
        return exploded(self.rows["shapes"], SHAPE_COLUMNS)

    @cached_property
    def ops(self) -> pd.DataFrame:
        """One line an operation of a problem: row, op, count."""
        return exploded(self.rows["ops"], ("op", "count"))

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """Removed and failed rows, the column `outcome` tells which."""
        removed, failed = frame(self.removed), frame(self.failed)
        return pd.concat(
            [removed.assign(outcome="removed"), failed.assign(outcome="failed")], ignore_index=True
        )

    def settings(self, stage: str) -> Mapping[str, Any]:
        """The recipe's settings of a stage; empty where they are not known."""
        found: Mapping[str, Any] = ((self.recipe or {}).get("stages") or {}).get(stage) or {}
        return found


def release_of(table: pa.Table, history: History) -> Release:
    """The release that these tables are about to become."""
    return Release(table, history.removed, history.failed, history.stages, history.recipe)


def read_release(folder: Path) -> Release:
    """The release in a folder: as much of it as can be read."""
    missing: list[str] = []
    rows = _whole(_shards(folder / "data", missing), RELEASED, "The shards", missing)
    ledger = folder / "ledger"
    removed = _whole(_table(ledger / "removed.parquet", missing), REMOVED, "The ledger", missing)
    failed = _whole(_table(ledger / "failed.parquet", missing), FAILED, "The ledger", missing)
    release = Release(rows, removed, failed)
    manifest = _manifest(folder / "manifest.json", missing)
    return replace(
        release,
        stages=manifest.get("stages") or (),
        recipe=manifest.get("recipe"),
        missing=tuple(missing),
    )


def _shards(folder: Path, missing: list[str]) -> list[pa.Table]:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        missing.append("There is no shard in data/: no row can be shown.")
    for name in _absent_shards(file.name for file in files):
        missing.append(f"The shard {name} is missing: its rows are not in any figure here.")
    return [table for file in files for table in _table(file, missing)]


def _absent_shards(names: Iterable[str]) -> list[str]:
    """Shards that the names of the others promise: 00000-of-00002 promises 00001-of-00002."""
    there, counts = set(names), set()
    for name in there:
        if found := SHARD.fullmatch(name):
            counts.add((found["split"], int(found["count"])))
    promised = (
        f"{split}-{index:05d}-of-{count:05d}.parquet"
        for split, count in sorted(counts)
        for index in range(count)
    )
    return [name for name in promised if name not in there]


def _table(file: Path, missing: list[str]) -> list[pa.Table]:
    where = f"{file.parent.name}/{file.name}"
    try:
        return [pq.read_table(file, partitioning=None)]
    except FileNotFoundError:
        missing.append(f"{where} is missing.")
    except (pa.ArrowException, OSError) as error:
        missing.append(f"{where} can't be read ({str(error).splitlines()[0]}).")
    return []


def _whole(
    tables: Sequence[pa.Table], schema: pa.Schema, what: str, missing: list[str]
) -> pa.Table:
    """One table with all columns of the schema, whatever the parts have."""
    if not tables:
        return schema.empty_table()
    table = _joined(tables, what, missing)
    absent = [name for name in schema.names if name not in table.schema.names]
    for name in absent:
        kind = schema.field(name).type
        table = table.append_column(pa.field(name, kind), pa.nulls(table.num_rows, kind))
    if absent:
        names = ", ".join(absent)
        missing.append(f"{what} were made by another schema: {names} can't be shown.")
    return table


def _joined(tables: Sequence[pa.Table], what: str, missing: list[str]) -> pa.Table:
    """The tables that fit together, from the first on."""
    joined, left_out = tables[0], 0
    for table in tables[1:]:
        try:
            joined = pa.concat_tables([joined, table], promote_options="permissive")
        except pa.ArrowException:
            left_out += table.num_rows
    if left_out:
        missing.append(f"{what} do not fit together: {left_out:,} rows are left out.")
    return joined


def _manifest(file: Path, missing: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        missing.append("manifest.json is missing: funnel and recipe are not known.")
        return {}
    except (ValueError, OSError) as error:
        missing.append(f"manifest.json can't be read ({error}): funnel and recipe are not known.")
        return {}
    return found if isinstance(found, dict) else {}
