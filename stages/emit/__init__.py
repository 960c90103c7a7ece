"""emit: the release. Chooses each row's split and writes shards, licences and the dataset card."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.errors import StoreError
from pipeline.files import write_table
from pipeline.stage import History, Kept, Outcome, Row, Settings, TableStage, Workplace
from schemas.problem import RELEASED
from stages.emit.card import write_card
from stages.emit.split import TRAIN, VALIDATION, split_by_origin


class EmitSettings(Settings):
    """`[emit]`"""

    validation_share: float = Field(
        0.1, ge=0, lt=0.5, description="at most this share of rows; whole origins only"
    )
    rows_per_shard: int = Field(2000, gt=0, description="rows in one Parquet file")


def work(rows: Sequence[Row], settings: EmitSettings, workplace: Workplace) -> list[Outcome]:
    splits = split_by_origin(rows, settings.validation_share)
    return [Kept({"split": split}) for split in splits]


def publish(
    table: pa.Table,
    history: History,
    settings: EmitSettings,
    workplace: Workplace,
    folder: Path,
) -> None:
    for split in (TRAIN, VALIDATION):
        rows = table.filter(pc.equal(table["split"], split))
        _write_shards(rows, split, settings.rows_per_shard, folder / "data")
    for sha256 in sorted(set(table["licence_sha256"].to_pylist())):
        source = workplace.shared / "licences" / f"{sha256}.txt"
        if not source.exists():
            raise StoreError(
                f"{source}: licence text is gone; delete {workplace.shared.parent}/crawl"
            )
        target = folder / "licences" / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(source.read_bytes())
    write_card(table, history, folder)


def _write_shards(rows: pa.Table, split: str, size: int, folder: Path) -> None:
    """One schema in all shards; a split without rows has no shard."""
    count = -(-rows.num_rows // size)
    for index in range(count):
        name = f"{split}-{index:05d}-of-{count:05d}.parquet"
        write_table(rows.slice(index * size, size).combine_chunks(), folder / name)


STAGE = TableStage(
    name="emit",
    doing="choosing splits",
    version=1,
    settings=EmitSettings,
    gives=RELEASED,
    reads=("problem_id", "origin", "family_id"),
    work=work,
    publish=publish,
)
