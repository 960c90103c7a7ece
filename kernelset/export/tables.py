"""Parquet files, one a split."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernelset.export.item import Item, by_split
from pipeline.files import write_table


def write_tables(
    items: Sequence[Item],
    folder: Path,
    schema: pa.Schema,
    row: Callable[[int, Item], dict[str, Any]],
) -> None:
    """`train.parquet`, `validation.parquet`: one schema in all. `row` gets the position too."""
    for split, some in by_split(items).items():
        rows = [row(index, item) for index, item in enumerate(some)]
        write_table(pa.Table.from_pylist(rows, schema), folder / f"{split}.parquet")
