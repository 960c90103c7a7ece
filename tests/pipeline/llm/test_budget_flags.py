"""`kernelset run --budget --max-requests`: one limit for all stages that ask, over the recipe's."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import Result
from typer.testing import CliRunner

from pipeline import cli
from pipeline.errors import RecipeError
from pipeline.llm import Answer, LlmSettings
from pipeline.llm import ask as ask_all
from pipeline.llm.settings import with_budget
from pipeline.paths import RECIPES
from pipeline.recipe import load_recipe
from pipeline.stage import Failed, Kept, MapStage, Outcome, Row, Settings, Workplace
from stages import STAGES
from tests.pipeline.llm.asking import asking
from tests.pipeline.llm.conftest import PRICES
from tests.pipeline.llm.scripted import ScriptedServer, serving, verdict

ROWS = 4
NUMBERS = pa.schema([pa.field("number", pa.int64())])


def start(settings: Settings, place: Workplace) -> pa.Table:
    return pa.table({"number": pa.array(range(ROWS), pa.int64())})


def keep(rows: Sequence[Row], settings: Settings, place: Workplace) -> list[list[Outcome]]:
    return [[Kept({"number": row["number"]})] for row in rows]


def answered(rows: Sequence[Row], settings: LlmSettings, place: Workplace) -> list[list[Outcome]]:
    answers = ask_all([asking(f"problem {row['number']}") for row in rows], settings, place)
    return [[Kept({}) if isinstance(a, Answer) else Failed(a.reason, a.detail)] for a in answers]


def asks(name: str) -> MapStage:
    return MapStage(name, "asking", 1, LlmSettings, NUMBERS, ("number",), answered,
                    key="number", workers=0)  # fmt: skip


STAGES_HERE = (
    MapStage("start", "making rows", 1, Settings, NUMBERS, ("number",), keep, key="number",
             start=start),
    asks("first"),
    asks("second"),
    MapStage("end", "ending", 1, Settings, NUMBERS, ("number",), keep, key="number"),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prices.toml").write_text(PRICES)
    monkeypatch.setattr(cli, "DATA", tmp_path)
    return tmp_path


def run(folder: Path, server: ScriptedServer, *options: str, model: str = "priced") -> Result:
    told = f'model = "{model}"\nbase_url = "{server.url}"\nmax_tokens = 100\nconcurrency = 2\n'
    recipe = folder / "recipe.toml"
    recipe.write_text(f"[first]\n{told}[second]\n{told}budget_requests = 1\n")
    command = ["run", "--recipe", str(recipe), "--out", str(folder / "out"), "--until", "second"]
    return CliRunner().invoke(cli.build_app(STAGES_HERE), [*command, "--workers", "0", *options])


@pytest.mark.parametrize(
    ("flags", "sent", "words"),
    [
        (["--max-requests", "5"], 5, "5 requests"),
        (["--max-requests", "0"], 0, "0 requests"),
        # Reserved are $0.00103 or so a request, used $0.00052.
        (["--budget", "0.0032", "--max-requests", "100"], 5, "$0.0032 and 100 requests"),
    ],
)
def test_a_run_stops_asking_at_the_limit_and_a_larger_one_goes_on(
    flags: list[str], sent: int, words: str, folder: Path
) -> None:
    with serving(lambda asked: verdict(usage=(20, 50))) as server:
        done = run(folder, server, *flags)
        assert server.count == sent
        assert done.exit_code == cli.SOME_FAILED, done.output
        assert f"the budget of {words} in 24 hours" in " ".join(done.output.split())
        done = run(folder, server, "--max-requests", "100", "--budget", "1")
        assert done.exit_code == 0, done.output
        assert server.count == 2 * ROWS, "what was answered is not asked again"


def test_without_the_flags_each_stage_keeps_the_recipe_s_own_limit(folder: Path) -> None:
    with serving(lambda asked: verdict(usage=(20, 50))) as server:
        assert run(folder, server).exit_code == cli.SOME_FAILED
        assert server.count == ROWS + 1


@pytest.mark.parametrize("flags", [["--budget", "-1"], ["--max-requests", "-1"], ["--budget", "x"]])
def test_an_impossible_limit_is_wrong_use(flags: list[str], folder: Path) -> None:
    with serving(lambda asked: verdict()) as server:
        assert run(folder, server, *flags).exit_code == 2
        assert server.count == 0


def test_dollars_for_a_model_without_a_price_stop_the_run_before_a_request(folder: Path) -> None:
    with serving(lambda asked: verdict()) as server:
        done = run(folder, server, "--budget", "1", model="unknown")
        assert isinstance(done.exception, RecipeError)
        assert "no price for model 'unknown'" in str(done.exception)
        assert server.count == 0


def test_a_limit_changes_no_stage_s_address() -> None:
    recipe = load_recipe(RECIPES / "paper.toml", STAGES)
    limited = with_budget(recipe, 3.0, None)
    assert limited.plain() == recipe.plain()
    assert [s.budget_dollars for s in limited.stages.values() if isinstance(s, LlmSettings)] == [
        3.0,
        3.0,
    ]
    assert with_budget(recipe, None, None) is recipe
