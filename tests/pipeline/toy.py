"""A small flow with every kind of stage and outcome, to hold the engine to its four laws."""

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from pipeline import release
from pipeline.files import write_table
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, Recipe
from pipeline.run import Line, Plan, run_stages
from pipeline.stage import (
    Failed,
    History,
    Kept,
    MapStage,
    Outcome,
    Removed,
    Row,
    Settings,
    Stage,
    TableStage,
    Workplace,
)
from pipeline.store import Store
from schemas.columns import column, integer, table, text

SOURCE = [column("source_name", text, "where it is from"), column("number", integer, "a number")]
NUMBERS = table([column("file_id", text, "id")], SOURCE)
PARTS = table([column("problem_id", text, "id")], SOURCE, [column("part", integer, "a digit")])
SQUARES = table([*PARTS, column("square", integer, "part squared")])
RANKED = table([*SQUARES, column("rank", integer, "position by square")])


class StartSettings(Settings):
    numbers: list[int] = []


class SplitSettings(Settings):
    remove_above: int = 1000


class SquareSettings(Settings):
    offset: int = 0
    fail_on: list[int] = []
    die_on: list[int] = []
    stumble_on: list[int] = []
    eat_on: list[int] = []  # more memory than a worker may have


class RankSettings(Settings):
    pass


def start(settings: StartSettings, workplace: Workplace) -> pa.Table:
    rows = [{"number": n} for n in settings.numbers]
    return pa.Table.from_pylist(rows, schema=pa.schema([("number", pa.int64())]))


def name_all(rows: Sequence[Row], settings: Settings, workplace: Workplace) -> list[list[Outcome]]:
    return [
        [Kept({"file_id": f"f{row['number']:05d}", "source_name": "toy", **row})] for row in rows
    ]


def split(rows: Sequence[Row], settings: SplitSettings, work: Workplace) -> list[list[Outcome]]:
    """Every number gives one unit per digit; zeros are removed, numbers above a limit whole."""
    answers: list[list[Outcome]] = []
    for row in rows:
        if row["number"] > settings.remove_above:
            answers.append([Removed("too_large", value=row["number"], threshold=1000.0)])
            continue
        units: list[Outcome] = []
        for place, digit in enumerate(str(row["number"])):
            kept = {"problem_id": f"{row['file_id']}-{place}", "part": int(digit)}
            units.append(Kept(kept) if digit != "0" else Removed("zero", name=f"digit {place}"))
        answers.append(units)
    return answers


def square(rows: Sequence[Row], settings: SquareSettings, work: Workplace) -> list[list[Outcome]]:
    log(work, [row["problem_id"] for row in rows])
    answers: list[list[Outcome]] = []
    for row in rows:
        if row["part"] in settings.die_on:
            os.kill(os.getpid(), signal.SIGKILL)
        if row["part"] in settings.stumble_on:
            raise ZeroDivisionError("a bug of ours")
        if row["part"] in settings.eat_on:
            eaten = b"x" * (1 << 30)
            time.sleep(30)  # until the worker's nanny sees it
            del eaten
        if row["part"] in settings.fail_on:
            answers.append([Failed("asked_to", f"part {row['part']}")])
        else:
            answers.append([Kept({"square": row["part"] ** 2 + settings.offset})])
    return answers


def rank(rows: Sequence[Row], settings: RankSettings, workplace: Workplace) -> list[Outcome]:
    order = sorted(range(len(rows)), key=lambda i: (rows[i]["square"], rows[i]["problem_id"]))
    position = {index: place for place, index in enumerate(order)}
    return [Kept({"rank": position[index]}) for index in range(len(rows))]


def log(work: Workplace, ids: list[str]) -> None:
    """Notes which rows were really worked on: how a test sees that only new work is done."""
    with (work.cache / f"log-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(ids) + "\n")


def worked_on(store: Store, stage: str = "square") -> list[str]:
    lines = [
        line
        for path in sorted(store.cache(stage).glob("log-*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return sorted(row for line in lines for row in json.loads(line))


def publish(
    table: pa.Table, history: History, settings: RankSettings, work: Workplace, folder: Path
) -> None:
    write_table(table, folder / "data" / "train-00000-of-00001.parquet")
    (folder / "README.md").write_text(f"{table.num_rows} rows\n")


STAGES = (
    MapStage("start", "starting", 1, StartSettings, NUMBERS, ("number",), name_all,
             key="number", start=start, choosing=("numbers",), pins=("number",)),
    MapStage("split", "splitting", 1, SplitSettings, PARTS, ("file_id", "number"), split,
             key="file_id", expands=True, batch=3),
    MapStage("square", "squaring", 1, SquareSettings, SQUARES, ("problem_id", "part"), square,
             batch=4),
    TableStage("rank", "ranking", 1, RankSettings, RANKED, ("problem_id", "square"), rank,
               publish=publish),
)  # fmt: skip


def recipe(numbers: Sequence[int], **tables: Settings) -> Recipe:
    stages: dict[str, Settings] = {
        "start": StartSettings(numbers=list(numbers)),
        "split": SplitSettings(),
        "square": SquareSettings(),
        "rank": RankSettings(),
    }
    return Recipe("toy", "", Path("toy.toml"), EngineSettings(), stages | tables)


def run(root: Path, numbers: Sequence[int], workers: int = 0, **tables: Settings) -> list[Line]:
    store = Store(root)
    plan = Plan(STAGES, recipe(numbers, **tables), store, root, Watch(), workers=workers)
    with store.lock():
        store.prepare()
        return run_stages(plan)


def run_on(
    address: str,
    root: Path,
    numbers: Sequence[int],
    stages: Sequence[Stage] = STAGES,
    **tables: Settings,
) -> list[Line]:
    """On the workers behind a scheduler's address."""
    store = Store(root)
    plan = Plan(stages, recipe(numbers, **tables), store, root, Watch(), scheduler=address)
    with store.lock():
        store.prepare()
        return run_stages(plan)


def squares_need(name: str) -> tuple[Stage, ...]:
    """The flow in which only workers that offer a resource may square."""
    return tuple(
        replace(stage, resource=lambda settings: name) if stage.name == "square" else stage
        for stage in STAGES
    )


def run_and_publish(root: Path, numbers: Sequence[int]) -> Path:
    """A whole run with its release, as the command line does it."""
    store = Store(root)
    plan = Plan(STAGES, recipe(numbers), store, root, Watch(Console(quiet=True)), workers=0)
    with store.lock():
        store.prepare()
        return release.publish(plan, run_stages(plan))[0]


def bytes_of(root: Path) -> dict[str, bytes]:
    """Every table of every stage, as bytes."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.glob("store/*/result/*.parquet"))
    }
