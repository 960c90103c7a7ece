"""From outcomes to tables: kept, removed and failed rows, in an order that nothing can disturb."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.memo import FAILED, KEPT, REMOVED, added_columns
from pipeline.rows import PIECE, Indices, Pieces, Rows
from pipeline.stage import Failed, Kept, MapStage, Outcome, Removed, Stage, TableStage
from schemas.ledger import FAILED as FAILED_SCHEMA
from schemas.ledger import REMOVED as REMOVED_SCHEMA

ORDER = ("problem_id", "file_id", "source_name", "origin", "path", "line_start")
TOLD = ("name", "reason", "detail", "matched_id", "metric", "value", "threshold")
NAMES = ("class_name", "path", "name")  # the first of these columns names a row for people
TOLD_ROW = (*NAMES, "source_name")  # what the ledger repeats of a row


def carried_columns(stage: Stage, given: Sequence[str]) -> list[str]:
    """The columns of the rows that came in which the stage's three tables repeat."""
    made = {field.name for field in added_columns(stage, given)}
    wanted = {*stage.gives.names, stage.key, *NAMES, "source_name", "path"}
    always = (stage.key, *TOLD_ROW)
    return [name for name in given if name in wanted and (name not in made or name in always)]


def assemble_map(
    stage: MapStage, table: pa.Table, keys: Sequence[str], memo: pa.Table
) -> tuple[dict[str, pa.Table | Pieces], int]:
    """The three tables of a map stage, and how many units its rows gave rise to.

    Args:
        table: the rows that came in; `carried_columns` are enough.
        keys: each row's key in the memo.
        memo: outcomes of (at least) all these rows.
    """
    row_of, place_of = _units(keys, memo["key"])
    status = memo["status"]
    chosen = {
        name: np.flatnonzero(pc.equal(status, name).to_numpy()[place_of])
        for name in (KEPT, REMOVED, FAILED)
    }
    rows, units = Rows(table), Rows(memo)
    made = {field.name for field in added_columns(stage, table.schema.names)}

    def columns(which: Indices, names: Sequence[str]) -> dict[str, Any]:
        own = [name for name in names if name in made]
        other = [name for name in names if name not in made]
        new = units.take(place_of[which], own)
        old = rows.take(row_of[which], other)
        return {name: new[name] if name in made else old[name] for name in names}

    def ledger(name: str, schema: pa.Schema) -> pa.Table:
        which = chosen[name]
        told = [field for field in ("unit", *TOLD) if field in memo.schema.names]
        old = [field for field in table.schema.names if field in (stage.key, *TOLD_ROW)]
        return _ledger(
            stage, rows.take(row_of[which], old), units.take(place_of[which], told), schema
        )

    return {
        "kept": _in_order(stage, chosen[KEPT], columns),
        "removed": ledger(REMOVED, REMOVED_SCHEMA),
        "failed": ledger(FAILED, FAILED_SCHEMA),
    }, len(row_of)


def assemble_table(
    stage: TableStage, table: pa.Table, outcomes: Sequence[Outcome]
) -> dict[str, pa.Table | Pieces]:
    """The three tables of a table stage."""
    if len(outcomes) != table.num_rows:
        raise AssertionError(f"{stage.name}: {table.num_rows} rows in, {len(outcomes)} answers out")
    added = [field for field in stage.gives if field.name not in table.schema.names]
    kept = np.array([i for i, o in enumerate(outcomes) if isinstance(o, Kept)], np.int64)
    new = pa.Table.from_pylist(
        [dict(o.columns) for o in outcomes if isinstance(o, Kept)],
        schema=pa.schema([field.with_nullable(True) for field in added]),
    )
    # A stage may also give a column anew that came in.
    rows, units, made = Rows(table), Rows(new), set(new.schema.names)

    def columns(which: Indices, names: Sequence[str]) -> dict[str, Any]:
        fresh = units.take(which, [name for name in names if name in made])
        old = rows.take(kept[which], [name for name in names if name not in made])
        return {name: fresh[name] if name in made else old[name] for name in names}

    return {
        "kept": _in_order(stage, np.arange(len(kept)), columns),
        "removed": _outcome_ledger(stage, table, outcomes, Removed, REMOVED_SCHEMA),
        "failed": _outcome_ledger(stage, table, outcomes, Failed, FAILED_SCHEMA),
    }


def _units(keys: Sequence[str], memo_keys: pa.ChunkedArray) -> tuple[Indices, Indices]:
    """For each unit, in order: the row that it came from, and its place in the memo.

    The units of a row stand together in the memo: a batch writes them in one part.
    """
    start: dict[str, int] = {}
    count = np.zeros(len(memo_keys), np.int64)  # at a row's first unit: how many it has
    every = itertools.chain.from_iterable(chunk.to_pylist() for chunk in memo_keys.chunks)
    for place, key in enumerate(every):
        count[start.setdefault(key, place)] += 1
    first = np.fromiter((start[key] for key in keys), np.int64, len(keys))
    units = count[first] if len(keys) else first
    row_of = np.repeat(np.arange(len(keys), dtype=np.int64), units)
    within = np.arange(len(row_of)) - np.repeat(np.cumsum(units) - units, units)
    return row_of, np.repeat(first, units) + within


def _in_order(
    stage: Stage, which: Indices, columns: Callable[[Indices, Sequence[str]], dict[str, Any]]
) -> Pieces:
    """The kept rows, sorted, as pieces to write."""
    by = [name for name in ORDER if name in stage.gives.names]
    if by:
        small = pa.table(columns(which, by))
        which = which[pc.sort_indices(small, [(name, "ascending") for name in by]).to_numpy()]

    def make() -> Iterator[pa.Table]:
        for start in range(0, len(which), PIECE):
            yield _conform(stage, columns(which[start : start + PIECE], stage.gives.names))

    return Pieces(stage.gives, len(which), make)


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
