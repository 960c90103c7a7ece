"""A workplace, short waits, and a clean memory of endpoints for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.llm import retry
from pipeline.llm.ask import forget_endpoints
from pipeline.stage import Workplace

PRICES = """
[models."priced"]
input = 1.0
cached_input = 0.1
output = 10.0
batch = 0.5
checked = 2026-12-01
"""


@pytest.fixture(autouse=True)
def fresh_endpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    forget_endpoints()
    yield
    forget_endpoints()


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    data = tmp_path / "data"
    data.mkdir()
    (data / "prices.toml").write_text(PRICES)
    return Workplace(cache=tmp_path / "cache", shared=tmp_path / "shared", data=data)
