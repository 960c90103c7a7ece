"""From outcomes to tables: kept, removed and failed rows, in an order that nothing can disturb."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.memo import FAILED, KEPT, REMOVED, added_columns
from pipeline.stage import Failed, Kept, MapStage, Outcome, Removed, Stage, TableStage
from schemas.ledger import FAILED as FAILED_SCHEMA
from schemas.ledger import REMOVED as REMOVED_SCHEMA

ORDER = ("problem_id", "file_id", "source_name", "origin", "path", "line_start")
TOLD = ("name", "reason", "detail", "matched_id", "metric", "value", "threshold")
NAMES = ("class_name", "path", "name")  # the first of these columns names a row for people


def assemble_map(
    stage: MapStage, table: pa.Table, keys: Sequence[str], memo: pa.Table
) -> tuple[dict[str, pa.Table], int]:
    """The three tables of a map stage, and how many units its rows gave rise to.

    Args:
        table: the rows that came in.
        keys: each row's key in the memo.
        memo: outcomes of (at least) all these rows.
    """
    places: dict[str, list[int]] = {}
    for index, key in enumerate(memo["key"].to_pylist()):
        places.setdefault(key, []).append(index)
    pairs = [(row, place) for row, key in enumerate(keys) for place in places[key]]
    rows = table.take(pa.array([row for row, _ in pairs], pa.int64()))
    units = memo.take(pa.array([place for _, place in pairs], pa.int64()))

    made = {field.name for field in added_columns(stage, table.schema.names)}
    kept = _select(rows, units, KEPT)
    columns = {name: kept[1][name] if name in made else kept[0][name] for name in stage.gives.names}
    return {
        "kept": _sorted(_conform(stage, columns)),
        "removed": _ledger(stage, *_select(rows, units, REMOVED), REMOVED_SCHEMA),
        "failed": _ledger(stage, *_select(rows, units, FAILED), FAILED_SCHEMA),
    }, len(pairs)


def assemble_table(
    stage: TableStage, table: pa.Table, outcomes: Sequence[Outcome]
) -> dict[str, pa.Table]:
    """The three tables of a table stage."""
    if len(outcomes) != table.num_rows:
        raise AssertionError(f"{stage.name}: {table.num_rows} rows in, {len(outcomes)} answers out")
    added = [field for field in stage.gives if field.name not in table.schema.names]
    kept = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Kept)]
    rows = table.take(pa.array(kept, pa.int64()))
    new = pa.Table.from_pylist(
        [dict(o.columns) for o in outcomes if isinstance(o, Kept)],
        schema=pa.schema([field.with_nullable(True) for field in added]),
    )
    columns = {
        name: new[name] if name in new.schema.names else rows[name] for name in stage.gives.names
    }
    return {
        "kept": _sorted(_conform(stage, columns)),
        "removed": _outcome_ledger(stage, table, outcomes, Removed, REMOVED_SCHEMA),
        "failed": _outcome_ledger(stage, table, outcomes, Failed, FAILED_SCHEMA),
    }


def _select(rows: pa.Table, units: pa.Table, status: str) -> tuple[pa.Table, pa.Table]:
    mask = pc.equal(units["status"], status)
    return rows.filter(mask), units.filter(mask)


def _conform(stage: Stage, columns: dict[str, Any]) -> pa.Table:
    for field in stage.gives:
        if not field.nullable and columns[field.name].null_count:
            raise AssertionError(f"{stage.name}: null in column {field.name}, which can't be null")
    arrays = [columns[field.name].cast(field.type) for field in stage.gives]
    return pa.Table.from_arrays(arrays, schema=stage.gives).combine_chunks()


def _ledger(stage: Stage, rows: pa.Table, units: pa.Table, schema: pa.Schema) -> pa.Table:
    count = rows.num_rows
    own = {
        "stage": pa.array([stage.name] * count, pa.string()),
        "row_id": rows[stage.key],
        "policy": pa.array([stage.version] * count, pa.int64()),
        "name": pc.if_else(
            pc.equal(pc.fill_null(units["name"], ""), ""), _row_names(rows), units["name"]
        ),
        "source_name": _text(rows, "source_name"),
        "path": _text(rows, "path"),
    }
    arrays = [(own[f.name] if f.name in own else units[f.name]).cast(f.type) for f in schema]
    table = pa.Table.from_arrays(arrays, schema=schema)
    return table.sort_by([("row_id", "ascending"), ("unit", "ascending")]).combine_chunks()


def _outcome_ledger(
    stage: TableStage,
    table: pa.Table,
    outcomes: Sequence[Outcome],
    kind: type[Removed] | type[Failed],
    schema: pa.Schema,
) -> pa.Table:
    chosen = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, kind)]
    plain = [
        {name: getattr(outcomes[i], name, None) for name in TOLD} | {"unit": 0} for i in chosen
    ]
    fields = [f.with_nullable(True) for f in REMOVED_SCHEMA if f.name in (*TOLD, "unit")]
    units = pa.Table.from_pylist(plain, schema=pa.schema(fields))
    return _ledger(stage, table.take(pa.array(chosen, pa.int64())), units, schema)


def _row_names(rows: pa.Table) -> Any:
    for name in NAMES:
        if name in rows.schema.names:
            return rows[name]
    return _text(rows, "")


def _text(rows: pa.Table, name: str) -> Any:
    if name in rows.schema.names:
        return rows[name]
    return pa.array([""] * rows.num_rows, pa.string())


def _sorted(table: pa.Table) -> pa.Table:
    keys = [(name, "ascending") for name in ORDER if name in table.schema.names]
    return table.sort_by(keys).combine_chunks() if keys else table
