"""The shapes stage with a model, in a real run of the engine.

As a program:  python -m tests.stages.shapes.flow FOLDER ADDRESS ROWS
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.events import Events
from pipeline.paths import DATA
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, Recipe
from pipeline.run import Line, Plan, run_stages
from pipeline.stage import Kept, MapStage, Outcome, Row, Settings, Workplace
from pipeline.store import Store
from schemas.problem import LABELLED
from stages.shapes import STAGE
from stages.shapes.settings import ShapesSettings
from tests.stages.label.flow import _blank
from tests.stages.shapes.suggesting import CODE, row, settings_for


class StartSettings(Settings):
    rows: int = 10
    code: str = CODE


def start(settings: StartSettings, workplace: Workplace) -> pa.Table:
    return pa.table({"number": pa.array(range(settings.rows), pa.int64())})


def make(rows: Sequence[Row], settings: StartSettings, place: Workplace) -> list[list[Outcome]]:
    return [[Kept(_whole(row(settings.code, r["number"])))] for r in rows]


def _whole(facts: dict[str, Any]) -> dict[str, Any]:
    return {field.name: facts.get(field.name, _blank(field)) for field in LABELLED}


START = MapStage("start", "making rows", 1, StartSettings, LABELLED, ("number",), make,
                 key="number", start=start, choosing=("rows",))  # fmt: skip


def run(root: Path, rows: int, shapes: ShapesSettings, code: str = CODE) -> list[Line]:
    start = StartSettings(rows=rows, code=code)
    settings: dict[str, Settings] = {"start": start, "shapes": shapes}
    recipe = Recipe("flow", "", Path("flow.toml"), EngineSettings(), settings)
    store = Store(root)
    with store.lock():
        store.prepare()
        events = Events("run", root / "logs" / "run.jsonl")
        plan = Plan((START, STAGE), recipe, store, DATA, Watch(), workers=0, events=events)
        return run_stages(plan)


if __name__ == "__main__":
    folder, address, count = sys.argv[1:4]
    run(Path(folder), int(count), settings_for(address, concurrency=4))
