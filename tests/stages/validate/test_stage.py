"""What decides whether a row is validated again."""

import sys
from pathlib import Path

import pytest

from stages import STAGES

STAGE = next(stage for stage in STAGES if stage.name == "validate")


def test_with_new_graph_rules_every_row_is_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Else old graphs would be compared with a benchmark's new ones, and match nothing.
    settings = STAGE.settings()
    before = STAGE.identity(settings, Path())
    monkeypatch.setattr(sys.modules[STAGE.identity.__module__], "GRAPH_RULES", 99)
    assert STAGE.identity(settings, Path()) != before
