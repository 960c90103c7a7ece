"""Releases to load: the sample, and copies of it with something wrong."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.paths import DATA
from schemas.problem import RELEASED

SAMPLE = DATA / "sample"


def sample_rows() -> list[dict[str, Any]]:
    return pq.read_table(SAMPLE / "data").to_pylist()


DEVICE: str = next(one["device"] for row in sample_rows() for one in row["baselines"])
"""The one that the sample was measured on."""


def eager(row: dict[str, Any]) -> dict[str, Any]:
    """A row's first eager time in strict float32."""
    return next(
        one for one in row["baselines"] if one["mode"] == "eager" and one["dtype"] == "float32"
    )


def rows_of(*levels: str) -> int:
    """The number of the sample's rows, all or those of some levels."""
    return sum(not levels or row["level"] in levels for row in sample_rows())


def small_rows() -> list[dict[str, Any]]:
    """The sample's rows at the sizes that their programs are written with, only the batch grows.

    The sample's own shapes keep a GPU busy; a test that runs programs would take minutes.
    """
    return [row | {"shapes": _small_shapes(row)} for row in sample_rows()]


def _small_shapes(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        shape
        | {
            "sizes": [
                size | {"value": size["value"] * (1 + index if size["name"] == "BATCH" else 1)}
                for size in row["sizes"]
            ]
        }
        for index, shape in enumerate(row["shapes"])
    ]


def write_release(folder: Path, rows: list[dict[str, Any]], shards: int = 1) -> Path:
    """A release of these rows, without manifest."""
    (folder / "data").mkdir(parents=True)
    table = pa.Table.from_pylist(rows, RELEASED)
    size = max(1, -(-len(rows) // shards))
    for index in range(shards):
        part = table.slice(index * size, size)
        name = f"train-{index:05d}-of-{shards:05d}.parquet"
        pq.write_table(part, folder / "data" / name, row_group_size=10)
    return folder


def changed_sample(folder: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
    """The sample with its one shard changed."""
    shutil.copytree(SAMPLE, folder)
    (shard,) = (folder / "data").glob("*.parquet")
    pq.write_table(change(pq.read_table(shard)), shard)
    return folder
