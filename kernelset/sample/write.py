"""A sample on disk: two small releases side by side, and the manifest.

    data/train-00000-of-00001.parquet          the shapes for training
    data/validation-00000-of-00001.parquet     problems of other groups, the shapes for training
    hidden_shapes/data/train-…, validation-…   the same problems at their held-out shapes alone
    manifest.json                              from what, how, how many; digests of all files

`kernelset.load(DIR)` and `kernelset.load(DIR/hidden_shapes)` read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.files import file_digest_tree, whole_folder, write_json, write_table
from schemas.columns import column, integer, real

HIDDEN = "hidden_shapes"
ROWS_PER_SHARD = 2000
ADDED = [
    column("cluster", integer, "cluster of the row in this sample"),
    column("cluster_rows", integer, "rows of that cluster that could be drawn"),
    column("cluster_expected", real, "rows of that cluster that are drawn in expectation"),
]


@dataclass(frozen=True)
class Place:
    """What the sample says of a row."""

    split: str
    cluster: int
    cluster_rows: int
    cluster_expected: float


def write(
    table: pa.Table, places: Mapping[str, Place], manifest: Mapping[str, Any], folder: Path
) -> None:
    """Writes the rows of `table`, all of which have a place under their problem_id."""
    rows = [row | vars(places[row["problem_id"]]) for row in table.to_pylist()]
    added = {field.name for field in ADDED}  # already there if a sample is sampled again
    schema = pa.schema([*(field for field in table.schema if field.name not in added), *ADDED])
    with whole_folder(folder) as partial:
        _write_splits(rows, schema, held_out=False, folder=partial / "data")
        _write_splits(rows, schema, held_out=True, folder=partial / HIDDEN / "data")
        write_json({**manifest, "files": file_digest_tree(partial)}, partial / "manifest.json")


def _write_splits(
    rows: Sequence[dict[str, Any]], schema: pa.Schema, *, held_out: bool, folder: Path
) -> None:
    seen = [one for row in rows if (one := _at(row, held_out))["shapes"]]
    for split in sorted({row["split"] for row in seen}):
        some = [row for row in seen if row["split"] == split]
        count = -(-len(some) // ROWS_PER_SHARD)
        for index in range(count):
            part = some[index * ROWS_PER_SHARD : (index + 1) * ROWS_PER_SHARD]
            name = f"{split}-{index:05d}-of-{count:05d}.parquet"
            write_table(pa.Table.from_pylist(part, schema), folder / name)


def _at(row: dict[str, Any], held_out: bool) -> dict[str, Any]:
    """The row with the shapes of one kind only, and the times at these."""
    shapes = [shape for shape in row["shapes"] if shape["held_out"] == held_out]
    ids = {shape["shape_id"] for shape in shapes}
    baselines = [one for one in row["baselines"] if one["shape_id"] in ids]
    return row | {"shapes": shapes, "baselines": baselines}
