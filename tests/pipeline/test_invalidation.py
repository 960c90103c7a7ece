"""Third law over every setting there is: which stages work again when it changes, and which do not.

The stages are the real ones (settings, versions, identities, columns they read); only their work is
played by a function that gives some value for every column. Nothing here names a setting of its own:
`CHANGES` must have an entry for each field of each settings model, or the first test fails.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from pipeline.errors import KernelsetError
from pipeline.identity import row_key
from pipeline.paths import DATA
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, Recipe
from pipeline.run import Line, Plan, run_stages
from pipeline.stage import (
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
from stages import STAGES
from stages.crawl.sources import COLUMNS
from tests.pipeline.test_crashes import quick_folder

ALL = "all rows"  # the stage that reads the setting does all its rows again, no other stage does
NONE = "nothing"  # it says how or when work is done, not what comes out
NEW = "new rows"  # it chooses which rows come in: those known are not done again

BASE: dict[str, dict[str, Any]] = {
    "crawl": {"sources": ["examples", "timm"]},
    "decontaminate": {"l2": 0.33, "embedder": "openai:a"},
    "label": {"judge": "llm", "model": "a"},
    "shapes": {"suggester": "llm", "model": "a"},
}
ENDPOINT: dict[str, tuple[Any, str]] = {
    "model": ("b", ALL),
    "temperature": (0.5, ALL),
    "reasoning_effort": ("low", ALL),
    "max_tokens": (99, ALL),
    "extra_body": ({"a": 1}, ALL),
    "base_url": ("http://127.0.0.1:1/v1", NONE),
    "api_key_env": ("OTHER_KEY", NONE),
    "concurrency": (7, NONE),
    "rpm": (7, NONE),
    "tpm": (7, NONE),
    "timeout_s": (7.0, NONE),
    "max_wait_s": (7.0, NONE),
    "budget_dollars": (7.0, NONE),
    "budget_requests": (7, NONE),
    "budget_shared": (True, NONE),
    "batch_api": (True, NONE),
    "batch_wait_s": (7.0, NONE),
}
CHANGES: dict[str, dict[str, tuple[Any, str]]] = {
    "crawl": {
        "sources": (["examples", "kornia", "timm"], NEW),
        "licences": (["MIT"], ALL),
        "max_file_kb": (64, ALL),
        "max_files": (5, ALL),
        "moving": (True, NEW),
    },
    "extract": {
        "tries": (7, ALL),
        "allow_missing": (False, ALL),
        "cpu_s": (7, ALL),
        "wall_s": (7.0, ALL),
        "memory_mb": (1024, ALL),
    },
    "dedupe": {
        "jaccard": (0.7, ALL),
        "candidate_threshold": (0.4, ALL),
        "max_share_of_source": (0.5, ALL),
        "guard_from_rows": (7, ALL),
    },
    "validate": {
        "wall_s": (7.0, ALL),
        "cpu_s": (7, ALL),
        "memory_mb": (1024, ALL),
        "flag_only": (("constant",), ALL),
    },
    "decontaminate": {
        "benchmarks": (("kernelbench", "kernelbench"), ALL),
        "remove_by": (("same_graph",), ALL),
        "jaccard": (0.7, ALL),
        "l2": (0.4, ALL),
        "near_miss_band": (0.1, ALL),
        "embedder": ("openai:b", ALL),
        "revision": ("abc", ALL),
        "task": ("separation", ALL),
        "allow_remote_code": (True, ALL),
        "base_url": ("http://127.0.0.1:1/v1", ALL),
    },
    "label": {
        "judge": ("rules", ALL),
        "votes": (5, ALL),
        **ENDPOINT,
    },
    "distinct": {
        "remove": (False, ALL),
        "max_share_of_source": (0.5, ALL),
        "guard_from_rows": (7, ALL),
    },
    "shapes": {
        **ENDPOINT,
        "suggester": ("rules", ALL),
        "repairs": (1, ALL),
        "target": ("h200", ALL),
        "max_working_set": (7, ALL),
        "least": (2, ALL),
        "rounds": (7, ALL),
        "real_run_ms": (7.0, ALL),
        "wall_s": (7.0, ALL),
        "memory_mb": (1024, ALL),
    },
    "measure": {
        "device": ("none", ALL),
        "modes": (("eager",), ALL),
        "precisions": (({"dtype": "bfloat16"},), ALL),
        "runs": (7, ALL),
        "known": ("none", ALL),
        "inductor_share_cpu": (0.5, ALL),
        "inductor_calls_cpu": (7, ALL),
        "cpu_shapes": (1, ALL),
        "cpu_call_limit_ms": (7.0, ALL),
        "cpu_other_call_limit_ms": (7.0, ALL),
        "cpu_flush_mb": (7, ALL),
        "wall_s": (7.0, ALL),
        "memory_mb": (1024, ALL),
        "gpu_workers": (7, ALL),
        "window_ms": ((1.0, 1000.0), ALL),
        "remove_outside_window": (True, ALL),
    },
    "emit": {"validation_share": (0.3, ALL), "rows_per_shard": (7, ALL)},
}
ENGINE = {
    "workers": 0,
    "minimum_sandbox": "process",
    "max_shrink": 0.5,
    "max_source_shrink": 0.4,
    "keep_releases": 3,
    "worker_memory": "1GiB",
    "upload": ("s3://bucket/folder",),
}
NAMES = [stage.name for stage in STAGES]
EACH_SETTING = [
    pytest.param(stage.name, name, id=f"{stage.name}.{name}")
    for stage in STAGES
    for name in stage.settings.model_fields
]


def played(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with their work played: every row is kept, with some value in each column."""
    known: set[str] = set()
    actors: list[Stage] = []
    for stage in stages:
        added = [field for field in stage.gives if field.name not in known or stage is stages[0]]
        known = set(stage.gives.names)
        identity = _offline(stage)
        if isinstance(stage, TableStage):
            actors.append(replace(stage, work=_table_actor(added), identity=identity))
        else:
            start = _start if stage.start else None
            actor = _map_actor(stage, added)
            actors.append(replace(stage, work=actor, start=start, identity=identity))
    return tuple(actors)


def _offline(stage: Stage) -> Any:
    """The stage's identity; where it needs an embedder that is not here, what it says of that."""

    def identity(settings: Any, data: Path) -> dict[str, str]:
        try:
            return dict(stage.identity(settings, data))
        except KernelsetError as error:
            return {"missing": str(error)}

    return identity


def _start(settings: Any, workplace: Workplace) -> pa.Table:
    names = [*settings.sources, *(["moved"] if settings.moving else [])]
    rows = [_row(COLUMNS, name) | {"source_name": name} for name in names]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _map_actor(stage: MapStage, added: Sequence[pa.Field]) -> Any:
    def work(rows: Sequence[Row], settings: Settings, place: Workplace) -> list[list[Outcome]]:
        return [[Kept(_row(added, row_key(row, [stage.key])))] for row in rows]

    return work


def _table_actor(added: Sequence[pa.Field]) -> Any:
    return lambda rows, settings, place: [Kept(_row(added, "")) for _ in rows]


def _row(fields: Sequence[pa.Field] | pa.Schema, seed: str) -> dict[str, Any]:
    return {field.name: _some(field.type, f"{field.name} of {seed}") for field in fields}


def _some(kind: pa.DataType, words: str) -> Any:
    if pa.types.is_string(kind):
        return words
    if pa.types.is_list(kind):
        return []
    if pa.types.is_struct(kind):
        return _row(list(kind), words)
    return pa.scalar(0).cast(kind).as_py()


def recipe(stage: str = "", setting: str = "", value: Any = None, **engine: Any) -> Recipe:
    tables = {name: dict(BASE.get(name, {})) for name in NAMES}
    if stage:
        tables[stage][setting] = value
    settings = {s.name: s.settings.model_validate(tables[s.name]) for s in STAGES}
    return Recipe("played", "", Path("played.toml"), EngineSettings(**engine), settings)


def run(root: Path, what: Recipe, stages: Sequence[Stage]) -> dict[str, Line]:
    store = Store(root)
    store.prepare()
    plan = Plan(stages, what, store, DATA, Watch(), workers=0)
    return {line.stage: line for line in run_stages(plan)}


@pytest.fixture(scope="module")
def first() -> Iterator[Path]:
    """A store after a whole run of the base recipe."""
    with quick_folder() as root:
        run(root / "out", recipe(), played(STAGES))
        yield root / "out"


@pytest.fixture
def store(first: Path) -> Iterator[Path]:
    with quick_folder() as root:
        yield Path(shutil.copytree(first, root / "out"))


def test_every_setting_of_every_stage_has_its_line_in_the_table() -> None:
    assert {name: set(table) for name, table in CHANGES.items()} == {
        stage.name: set(stage.settings.model_fields) for stage in STAGES
    }
    assert set(ENGINE) == set(EngineSettings.model_fields)


@pytest.mark.parametrize(("stage", "setting"), EACH_SETTING)
def test_a_changed_setting_costs_the_stage_that_reads_it_and_no_other(
    store: Path, stage: str, setting: str
) -> None:
    value, cost = CHANGES[stage][setting]
    changed = recipe(stage, setting, value)
    assert changed.stages[stage] != recipe().stages[stage], "the table changes nothing here"
    lines = run(store, changed, played(STAGES))
    again = {name: line.new for name, line in lines.items() if line.new}
    if cost == NEW:
        assert set(lines[stage].result.rows.values()) == {3, 0}
        assert all(again[n] == 1 for n in again if isinstance(STAGES[NAMES.index(n)], MapStage))
    else:
        assert again == ({stage: 2} if cost == ALL else {})
        assert all(line.unchanged for name, line in lines.items() if name not in again)


@pytest.mark.parametrize("setting", sorted(EngineSettings.model_fields))
def test_how_a_run_is_carried_out_costs_no_stage_anything(store: Path, setting: str) -> None:
    lines = run(store, recipe(**{setting: ENGINE[setting]}), played(STAGES))
    assert all(line.unchanged for line in lines.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_new_version_of_a_stage_costs_that_stage_and_no_other(store: Path, name: str) -> None:
    newer = [replace(s, version=s.version + 1) if s.name == name else s for s in STAGES]
    lines = run(store, recipe(), played(newer))
    assert {n: line.new for n, line in lines.items() if line.new} == {name: 2}


@pytest.mark.parametrize("where", ["identity", "schema"])
def test_another_fingerprint_or_column_costs_its_stage_alone(
    store: Path, where: Literal["identity", "schema"]
) -> None:
    place = NAMES.index("decontaminate")
    stage = STAGES[place]
    if where == "identity":
        other = replace(stage, identity=lambda settings, data: {"kernelbench": "other digest"})
    else:
        column = pa.field("extra", pa.string())
        other = replace(stage, gives=stage.gives.append(column))
    lines = run(store, recipe(), played([*STAGES[:place], other, *STAGES[place + 1 :]]))
    assert {name: line.new for name, line in lines.items() if line.new} in (
        {"decontaminate": 2},
        # distinct and emit look at the whole table, and that has changed
        {"decontaminate": 2, "distinct": 2},
        {"decontaminate": 2, "distinct": 2, "emit": 2},
    )


def test_a_changed_gate_gates_again_and_nothing_is_judged_or_measured_again(store: Path) -> None:
    """validate 4 removes a row that validate 3 kept: what comes after knows all the others."""
    actors = list(played(STAGES))
    place = NAMES.index("validate")
    honest = actors[place].work
    kept = Store(store).result("validate").table("kept")["problem_id"].to_pylist()

    def stricter(rows: Sequence[Row], settings: Settings, at: Workplace) -> list[list[Outcome]]:
        outcomes = zip(rows, honest(rows, settings, at), strict=True)
        return [
            [Removed("new_gate")] if row["problem_id"] == kept[0] else units
            for row, units in outcomes
        ]

    actors[place] = replace(actors[place], version=99, work=stricter)
    lines = run(store, recipe(), actors)
    assert lines["validate"].result.rows == {"in": 2, "kept": 1, "removed": 1, "failed": 0}
    again = {name: line.new for name, line in lines.items() if line.new}
    assert again == {"validate": 2, "distinct": 1, "emit": 1}
