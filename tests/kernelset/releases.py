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


CPU: str = next(
    one["device"]
    for row in sample_rows()
    for one in row["baselines"]
    if one["device_kind"] == "cpu"
)
"""The one that the sample was measured on."""


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
