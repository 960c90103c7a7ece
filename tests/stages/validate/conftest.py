"""The stage as the engine calls it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.stage import Outcome, Workplace
from stages.validate import STAGE

Validate = Callable[..., Outcome]


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    folder = tmp_path_factory.mktemp("validate")
    return Workplace(cache=folder, shared=folder, data=Path(__file__).parents[3] / "data")


@pytest.fixture(scope="session")
def validate(workplace: Workplace) -> Validate:
    """One program's outcome; keywords are settings."""

    def run(code: str, **settings: object) -> Outcome:
        row = {"problem_id": "p", "code": code, "class_name": "Model"}
        [[outcome]] = STAGE.work([row], STAGE.settings(**settings), workplace)
        return outcome

    return run
