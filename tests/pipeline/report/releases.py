"""Releases for the tests of the report: the sample as it is, damaged, or multiplied."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.files import write_table
from pipeline.paths import DATA

SAMPLE = DATA / "sample"
SHARD = "train-00000-of-00001.parquet"
HOSTILE = '</script><img src=x onerror="window.broken = 1"><b>&lt;\'</b>'


def copy_of_the_sample(folder: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, folder / "release"))


def with_rows(release: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
    """The release with its one shard changed."""
    shard = release / "data" / SHARD
    table = change(pq.read_table(shard))
    shard.unlink()
    write_table(table, shard)
    return release


def without_gpu(table: pa.Table) -> pa.Table:
    """The table as if a CPU had been timed."""

    def change(_: int, was: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one | {"device": "AMD EPYC", "device_kind": "cpu"} for one in was]

    return _set(table, "baselines", change)


def with_text(table: pa.Table, column: str, text: str) -> pa.Table:
    """The table with one text in all rows of a column."""
    place = table.schema.get_field_index(column)
    values = pa.array([text] * table.num_rows, pa.string())
    return table.set_column(place, table.schema.field(column), values)


def large_release(folder: Path, rows: int) -> Path:
    """A release of many rows: the sample's, each with an identity and a program of its own."""
    rest = json.loads((SAMPLE / "manifest.json").read_text())
    table = pq.read_table(SAMPLE / "data" / SHARD)
    again = -(-rows // table.num_rows)
    many = pa.concat_tables([table] * again).slice(0, rows).combine_chunks()
    many = _set(many, "problem_id", lambda place, was: f"{place:08x}{was[8:]}")
    many = _set(many, "class_name", lambda place, was: f"{was}{place}")
    many = _set(many, "code", lambda place, was: _varied(was, place))
    many = _set(many, "l2", lambda place, was: was + (place % 997) / 9970)
    size = 2000
    count = -(-rows // size)
    for index in range(count):
        name = f"train-{index:05d}-of-{count:05d}.parquet"
        write_table(many.slice(index * size, size).combine_chunks(), folder / "data" / name)
    for name in ("removed", "failed"):
        ledger = pq.read_table(SAMPLE / "ledger" / f"{name}.parquet")
        write_table(
            pa.concat_tables([ledger] * 100).combine_chunks(), folder / "ledger" / f"{name}.parquet"
        )
    (folder / "manifest.json").write_text(json.dumps(rest))
    return folder


def _set(table: pa.Table, column: str, change: Callable[[int, Any], Any]) -> pa.Table:
    place = table.schema.get_field_index(column)
    field = table.schema.field(column)
    values = [change(i, was) for i, was in enumerate(table[column].to_pylist())]
    return table.set_column(place, field, pa.array(values, field.type))


def _varied(code: str, place: int) -> str:
    """Names and numbers of its own, so that compression gains no more than from real programs."""
    words = [f"{(place * 2654435761 + i * 40503) % 2**32:08x}" for i in range(24)]
    lines = code.splitlines()
    for i, word in enumerate(words):
        at = (i * 5 + 3) % len(lines)
        lines[at] += f"  # {word}"
    return "\n".join(lines)
