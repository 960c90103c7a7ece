"""Below the recipe's `minimum_sandbox` a run refuses, before anything is started, and says what helps."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import KernelsetError
from pipeline.progress import Watch
from pipeline.recipe import EngineSettings
from pipeline.run import Plan, run_stages
from pipeline.sandbox import SandboxTooWeak, levels
from pipeline.sandbox.inside.plan import Layers
from pipeline.store import Store
from tests.pipeline import toy


def plan_of(root: Path, minimum: str) -> Plan:
    engine = EngineSettings(minimum_sandbox=minimum)  # type: ignore[arg-type]
    recipe = replace(toy.recipe([12, 34]), engine=engine)
    store = Store(root)
    store.prepare()
    return Plan(toy.STAGES, recipe, store, root, Watch(), workers=0)


@pytest.fixture
def weak_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without namespaces and seccomp."""
    monkeypatch.setattr(levels, "usable_layers", lambda: Layers(7, False, "none"))


def test_a_run_below_the_minimum_refuses_before_it_starts(
    tmp_path: Path, weak_machine: None
) -> None:
    plan = plan_of(tmp_path, "confined")
    with pytest.raises(SandboxTooWeak, match="level process, confined is asked for") as refusal:
        run_stages(plan)
    assert isinstance(refusal.value, KernelsetError)  # the command line shows it as one line
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.glob("store/*/result"))


def test_a_recipe_that_asks_for_nothing_runs_there(tmp_path: Path, weak_machine: None) -> None:
    assert [line.stage for line in run_stages(plan_of(tmp_path, "process"))][-1] == "rank"
