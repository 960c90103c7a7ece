"""The label stage in a real run of the engine, behind a first stage that makes its rows.

As a program:  python -m tests.stages.label.flow FOLDER ADDRESS ROWS WORKERS
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.paths import DATA
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, Recipe
from pipeline.run import Line, Plan, run_stages
from pipeline.stage import Kept, MapStage, Outcome, Row, Settings, Workplace
from pipeline.store import Store
from schemas.problem import DECONTAMINATED
from stages.label import STAGE
from stages.label.settings import LabelSettings
from tests.stages.label.rows import CODE, row


class StartSettings(Settings):
    rows: int = 10


def start(settings: StartSettings, workplace: Workplace) -> pa.Table:
    return pa.table({"number": pa.array(range(settings.rows), pa.int64())})


def make(rows: Sequence[Row], settings: StartSettings, place: Workplace) -> list[list[Outcome]]:
    return [[Kept(problem(r["number"]))] for r in rows]


def problem(number: int) -> dict[str, Any]:
    """A whole row of the table that the label stage gets."""
    facts = row(CODE.replace("256", str(256 + number)), problem_id=f"{number:032d}")
    return {field.name: facts.get(field.name, _blank(field)) for field in DECONTAMINATED}


def _blank(field: pa.Field) -> Any:
    if field.nullable:
        return None
    if pa.types.is_list(field.type):
        return []
    if pa.types.is_string(field.type):
        return ""
    return pa.scalar(0, pa.int64()).cast(field.type).as_py()


START = MapStage("start", "making rows", 1, StartSettings, DECONTAMINATED, ("number",), make,
                 key="number", start=start, choosing=("rows",))  # fmt: skip


def run(root: Path, rows: int, label: LabelSettings, workers: int = 0) -> list[Line]:
    stages = (START, STAGE)
    settings: dict[str, Settings] = {"start": StartSettings(rows=rows), "label": label}
    recipe = Recipe("flow", "", Path("flow.toml"), EngineSettings(), settings)
    store = Store(root)
    with store.lock():
        store.prepare()
        return run_stages(Plan(stages, recipe, store, DATA, Watch(), workers=workers))


def llm(url: str, **fields: Any) -> LabelSettings:
    return LabelSettings(
        **({"judge": "llm", "model": "m", "base_url": url, "votes": 1, "concurrency": 8} | fields)
    )


if __name__ == "__main__":
    folder, address, count, width = sys.argv[1:5]
    run(Path(folder), int(count), llm(address), int(width))
