"""A run: the stages in order, each done only as far as there is new work."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.assemble import assemble_map, assemble_table, carried_columns
from pipeline.batch import Batch
from pipeline.cluster import Cluster, open_cluster
from pipeline.events import Events, run_id
from pipeline.files import disk_troubles, read_table, write_table
from pipeline.identity import digest
from pipeline.memo import Memo, added_columns
from pipeline.progress import Watch
from pipeline.recipe import Recipe
from pipeline.rows import RowFile
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
    pins: Sequence[Mapping[str, Any]] = ()  # the first stage's: what it started from, exactly

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
    events: Events = field(default_factory=lambda: Events(run_id()))

    def workplace(self, stage: Stage) -> Workplace:
        cache = self.store.cache(stage.name)
        cache.mkdir(parents=True, exist_ok=True)
        # A workplace that travels to other processes can't take this console with it.
        in_driver = isinstance(stage, TableStage) or stage.workers == 0
        return Workplace(
            cache=cache,
            shared=self.store.root / "store" / "shared",
            data=self.data,
            minimum_sandbox=self.recipe.engine.minimum_sandbox,
            **({"tell": self.tell} if in_driver else {}),
        )

    def tell(self, text: str) -> None:
        """One line of a stage, for the person watching and for the log."""
        if self.watch.note(text):
            self.events.tell("note", text=text)


def run_stages(plan: Plan, lines: list[Line] | None = None) -> list[Line]:
    """Runs the stages up to `plan.until`, reusing every result that still holds.

    The caller holds the store's lock.

    Args:
        lines: where each stage's line is added when it is done, for a caller who wants to know how
            far a run came that did not end.

    Raises:
        SandboxTooWeak: the machine is below what the recipe asks for; nothing has been started.
    """
    levels.require(plan.recipe.engine.minimum_sandbox)
    lines = [] if lines is None else lines
    workers = plan.workers if plan.workers is not None else plan.recipe.engine.workers
    with open_cluster(workers, plan.scheduler, plan.recipe.engine.worker_memory) as cluster:
        before: Result | None = None
        for stage in plan.stages:
            plan.events.tell("stage_started", stage=stage.name)
            with disk_troubles(plan.store.root):  # of what a stage writes itself: caches, answers
                line = _run_stage(plan, stage, before, cluster)
            lines.append(line)
            if note := plan.watch.last_note():
                plan.events.tell("note", stage=stage.name, text=note)
            plan.events.tell("stage_done", **line.plain())
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

    pins = rows.select(list(getattr(stage, "pins", ()))).to_pylist() if rows is not None else []

    found = plan.store.result(stage.name)
    if found is not None and found.manifest["address"] == address and not found.rows["failed"]:
        seconds = time.monotonic() - began
        return Line(stage.name, found, seconds, new=0, unchanged=True, pins=pins)

    if isinstance(stage, TableStage):
        assert before is not None
        result, new = _whole_table(plan, stage, settings, before, address), before.rows["kept"]
    else:
        folder = plan.store.memo(stage, settings, identity)
        path = folder / "rows.parquet" if before is None else before.kept_path
        if rows is not None:
            write_table(rows, path)
        given = pq.read_schema(path).names
        memo, file = Memo(folder, added_columns(stage, given)), RowFile(path, stage.reads)
        result, new = _row_by_row(plan, stage, settings, file, address, memo, cluster)
        if rows is not None:
            path.unlink()
    seconds = time.monotonic() - began
    line = Line(stage.name, result, seconds, new, unchanged=False, pins=pins)
    counts = result.rows
    plan.watch.tell(
        f"[bold]{stage.name}[/bold]: {counts['in']:,} in, {counts['kept']:,} kept, "
        f"{counts['removed']:,} removed, {counts['failed']:,} failed "
        f"({new:,} new, {line.seconds:.1f} s)"
    )
    return line


def _whole_table(
    plan: Plan, stage: TableStage, settings: Any, before: Result, address: Mapping[str, Any]
) -> Result:
    columns = tuple(stage.reads)
    rows: list[Row] = [
        dict(zip(columns, values, strict=True))
        for lists in RowFile(before.kept_path, columns).lists()
        for values in zip(*lists, strict=True)
    ]
    with plan.watch.bar(stage.name, stage.doing, len(rows)) as bar:
        outcomes = stage.work(rows, settings, plan.workplace(stage))
        bar.advance(len(rows), len(rows), 0)
    count = len(rows)
    del rows  # before the table is read again, whole
    pa.default_memory_pool().release_unused()
    table = before.table("kept", carried_columns(stage, before.columns))
    return plan.store.save(stage, address, assemble_table(stage, table, outcomes), units=count)


def _row_by_row(
    plan: Plan,
    stage: MapStage,
    settings: Any,
    file: RowFile,
    address: Mapping[str, Any],
    memo: Memo,
    cluster: Cluster,
) -> tuple[Result, int]:
    rows_in_driver = stage.in_driver(settings)
    if rows_in_driver:
        stage = replace(stage, workers=0, batch=rows_in_driver)
    keys = [digest(list(values)) for lists in file.lists() for values in zip(*lists, strict=True)]
    known = memo.load(plan.watch.tell)
    todo = _new_rows(keys, known["key"])
    if todo:
        if stage.forecast and (cost := stage.forecast(file.rows(todo), settings, plan.data)):
            plan.watch.tell(f"{stage.name}: {cost}")
        parts = []
        with plan.watch.bar(stage.name, stage.doing, len(todo)) as bar:
            place = plan.workplace(stage)
            if stage.workers == 0:  # from elsewhere nobody hears it
                place = replace(place, tell=plan.watch.tell, note=bar.note)
            width = 0 if stage.workers == 0 else _width(plan)
            batches = [
                Batch(stage, settings, place, file, indices, memo)
                for indices in split(todo, stage.batch, width)
            ]
            for done in cluster.run(batches):
                parts.append(done.part)
                plan.events.tell("batch_done", stage=stage.name, **asdict(done))
                bar.advance(done.rows, done.kept, done.failed)
        known = pa.concat_tables([known, memo.read(parts)])
    given = pq.read_schema(file.path).names
    table = read_table(file.path, carried_columns(stage, given))
    tables, units = assemble_map(stage, table, keys, known)
    result = plan.store.save(stage, address, tables, units)
    del known, table, tables  # compacting reads the memo again
    pa.default_memory_pool().release_unused()
    memo.compact()
    pa.default_memory_pool().release_unused()  # or it stays beside what the next stage needs
    return result, len(todo)


def _new_rows(keys: Sequence[str], settled: pa.ChunkedArray) -> list[int]:
    """The first row of each key that is not settled yet."""
    seen = {key for chunk in settled.chunks for key in chunk.to_pylist()}
    todo = []
    for index, key in enumerate(keys):
        if key not in seen:
            seen.add(key)
            todo.append(index)
    return todo


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
