"""emit: the release. Chooses each row's split and writes shards, licences, card and report."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.errors import StoreError
from pipeline.files import write_table
from pipeline.report.page import write_report
from pipeline.report.reading import release_of
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
    parts = {name: table.filter(pc.equal(table["split"], name)) for name in (TRAIN, VALIDATION)}
    for split, rows in parts.items():
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
    in_shard_order = pa.concat_tables(
        parts.values()
    )  # so that `kernelset report` gives these bytes
    write_report(release_of(in_shard_order, history), folder / "report.html")


def _write_shards(rows: pa.Table, split: str, size: int, folder: Path) -> None:
    """One schema in all shards; a split without rows has no shard."""
    count = -(-rows.num_rows // size)
    for index in range(count):
        name = f"{split}-{index:05d}-of-{count:05d}.parquet"
        write_table(rows.slice(index * size, size).combine_chunks(), folder / name)


STAGE = TableStage(
    name="emit",
    doing="choosing splits",
    version=2,  # 2: a release has a report page, and its card tells what changed
    settings=EmitSettings,
    gives=RELEASED,
    reads=("problem_id", "origin", "family_id"),
    work=work,
    publish=publish,
)
