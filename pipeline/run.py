"""A run: the stages in order, each done only as far as there is new work."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.assemble import assemble_map, assemble_table
from pipeline.batch import Batch
from pipeline.cluster import Cluster, open_cluster
from pipeline.files import write_table
from pipeline.identity import digest, row_key
from pipeline.memo import Memo, added_columns
from pipeline.progress import Watch
from pipeline.recipe import Recipe
from pipeline.sandbox import levels
from pipeline.stage import MapStage, Row, Stage, TableStage, Workplace
from pipeline.store import Result, Store

MAX_BATCHES = 4096  # more tasks than this only cost the scheduler time


@dataclass(frozen=True)
class Line:
    """One stage in the funnel."""

    stage: str
    result: Result
    seconds: float
    new: int  # rows that cost work in this run
    unchanged: bool

    def plain(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            **self.result.rows,
            "new": self.new,
            "unchanged": self.unchanged,
            "seconds": round(self.seconds, 2),
        }


@dataclass(frozen=True)
class Plan:
    """What a run needs to know about its surroundings."""

    stages: Sequence[Stage]
    recipe: Recipe
    store: Store
    data: Path
    watch: Watch
    workers: int | None = None
    scheduler: str | None = None
    until: str | None = None

    def workplace(self, stage: Stage) -> Workplace:
        cache = self.store.cache(stage.name)
        cache.mkdir(parents=True, exist_ok=True)
        return Workplace(
            cache=cache,
            shared=self.store.root / "store" / "shared",
            data=self.data,
            minimum_sandbox=self.recipe.engine.minimum_sandbox,
        )


def run_stages(plan: Plan) -> list[Line]:
    """Runs the stages up to `plan.until`, reusing every result that still holds.

    The caller holds the store's lock.

    Raises:
        SandboxTooWeak: the machine is below what the recipe asks for; nothing has been started.
    """
    levels.require(plan.recipe.engine.minimum_sandbox)
    lines: list[Line] = []
    workers = plan.workers if plan.workers is not None else plan.recipe.engine.workers
    with open_cluster(workers, plan.scheduler, plan.recipe.engine.worker_memory) as cluster:
        before: Result | None = None
        for stage in plan.stages:
            line = _run_stage(plan, stage, before, cluster)
            lines.append(line)
            before = line.result
            if stage.name == plan.until:
                break
    return lines


def address_of(
    stage: Stage, settings: Any, identity: Mapping[str, str], input_digest: str
) -> dict[str, Any]:
    """Third law: what decides a stage's result, part by part, so that a change can be named."""
    return {
        "stage": stage.name,
        "version": stage.version,
        "settings": settings.model_dump(mode="json"),
        "identity": dict(identity),
        "schema": digest(
            stage.gives.to_string(show_field_metadata=True, show_schema_metadata=True)
        ),
        "input": input_digest,
    }


def input_of(plan: Plan, stage: Stage, before: Result | None) -> tuple[pa.Table | None, str]:
    """The first stage's rows, or the digest of the rows that the stage before keeps."""
    if before is not None:
        return None, before.digest
    if not isinstance(stage, MapStage) or stage.start is None:
        raise AssertionError(f"{stage.name}: the first stage needs `start`")
    table = stage.start(plan.recipe.stages[stage.name], plan.workplace(stage))
    return table, digest(table.to_pylist())


def _run_stage(plan: Plan, stage: Stage, before: Result | None, cluster: Cluster) -> Line:
    began = time.monotonic()
    settings = plan.recipe.stages[stage.name]
    identity = stage.identity(settings, plan.data)
    rows, input_digest = input_of(plan, stage, before)
    address = address_of(stage, settings, identity, input_digest)

    found = plan.store.result(stage.name)
    if found is not None and found.manifest["address"] == address and not found.rows["failed"]:
        return Line(stage.name, found, time.monotonic() - began, new=0, unchanged=True)

    table = rows if before is None else before.table("kept")
    assert table is not None
    if isinstance(stage, TableStage):
        result, new = _whole_table(plan, stage, settings, table, address), table.num_rows
    else:
        memo = Memo(
            plan.store.memo(stage, settings, identity), added_columns(stage, table.schema.names)
        )
        result, new = _row_by_row(plan, stage, settings, table, address, memo, cluster)
    line = Line(stage.name, result, time.monotonic() - began, new, unchanged=False)
    counts = result.rows
    plan.watch.tell(
        f"[bold]{stage.name}[/bold]: {counts['in']:,} in, {counts['kept']:,} kept, "
        f"{counts['removed']:,} removed, {counts['failed']:,} failed "
        f"({new:,} new, {line.seconds:.1f} s)"
    )
    return line


def _whole_table(
    plan: Plan, stage: TableStage, settings: Any, table: pa.Table, address: Mapping[str, Any]
) -> Result:
    rows: list[Row] = table.select(list(stage.reads)).to_pylist()
    with plan.watch.bar(stage.name, stage.doing, len(rows)) as bar:
        outcomes = stage.work(rows, settings, plan.workplace(stage))
        bar.advance(len(rows), len(rows), 0)
    return plan.store.save(
        stage, address, assemble_table(stage, table, outcomes), units=table.num_rows
    )


def _row_by_row(
    plan: Plan,
    stage: MapStage,
    settings: Any,
    table: pa.Table,
    address: Mapping[str, Any],
    memo: Memo,
    cluster: Cluster,
) -> tuple[Result, int]:
    rows_in_driver = stage.in_driver(settings)
    if rows_in_driver:
        stage = replace(stage, workers=0, batch=rows_in_driver)
    reads = table.select(list(stage.reads))
    keys = [row_key(row, stage.reads) for row in reads.to_pylist()]
    known = memo.load()
    settled = set(known["key"].to_pylist())
    todo = list(
        {key: i for i, key in reversed(list(enumerate(keys))) if key not in settled}.values()
    )
    todo.sort()

    if todo:
        rows_path = memo.folder / "rows.parquet"
        write_table(reads, rows_path)
        if cost := stage.forecast(reads.take(todo).to_pylist(), settings, plan.data):
            plan.watch.tell(f"{stage.name}: {cost}")
        parts = []
        with plan.watch.bar(stage.name, stage.doing, len(todo)) as bar:
            place = plan.workplace(stage)
            if stage.workers == 0:  # from elsewhere nobody hears it
                place = replace(place, tell=plan.watch.tell, note=bar.note)
            batches = [
                Batch(
                    stage=stage,
                    settings=settings,
                    workplace=place,
                    rows=rows_path,
                    indices=indices,
                    memo=memo,
                )
                for indices in split(todo, stage.batch, 0 if stage.workers == 0 else _width(plan))
            ]
            for done in cluster.run(batches):
                parts.append(done.part)
                bar.advance(done.rows, done.kept, done.failed)
        known = pa.concat_tables([known, memo.read(parts)])
        rows_path.unlink()
    tables, units = assemble_map(stage, table, keys, known)
    result = plan.store.save(stage, address, tables, units)
    memo.compact()
    return result, len(todo)


def split(todo: Sequence[int], most: int, workers: int) -> Iterator[tuple[int, ...]]:
    """Rows in batches that get smaller towards the end, so that workers end at the same time.

    Each is a share of what is left (guided self-scheduling), at most `most` rows and at least so many
    that there are not more than some MAX_BATCHES. With no worker but the driver all are full.
    """
    least = -(-len(todo) // MAX_BATCHES)
    start = 0
    while start < len(todo):
        share = -(-(len(todo) - start) // (4 * workers)) if workers else most
        size = max(least, min(most, share))
        yield tuple(todo[start : start + size])
        start += size


def _width(plan: Plan) -> int:
    return max(1, plan.workers if plan.workers is not None else plan.recipe.engine.workers or 2)
