"""The label stage as part of a run: resumed, interrupted, spread over workers, addressed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store import Store
from tests.pipeline.llm.scripted import serving, verdict
from tests.stages.label import flow

KEY = "sk-test-4f9a7c21e8b3d605"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _start(folder: Path, url: str, rows: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.stages.label.flow", str(folder), url, str(rows), "0"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def test_a_run_killed_at_60_percent_sends_only_what_is_missing(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(wait_s=0.05)) as server:
        first = _start(tmp_path, server.url, 100)
        _until(lambda: server.count >= 60)
        first.kill()
        first.wait()
        [_, line] = flow.run(tmp_path, 100, flow.llm(server.url))
        assert line.result.rows["kept"] == 100
        assert server.count <= 100 + 8, "only what was in flight is asked again"


def test_ctrl_c_ends_the_run_within_5_seconds_and_loses_no_answer(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(wait_s=0.5)) as server:
        first = _start(tmp_path, server.url, 100)
        _until(lambda: server.count >= 24)
        began = time.monotonic()
        first.send_signal(signal.SIGINT)
        _, told = first.communicate(timeout=30)
        assert time.monotonic() - began < 5
        assert "answers are kept; the same command goes on" in told
        assert re.search(r"label: \d+ answers .* requests · .* tokens · no price known", told)
        server.script = lambda asked: verdict()
        [_, line] = flow.run(tmp_path, 100, flow.llm(server.url))
        assert line.result.rows["kept"] == 100
        assert server.count == 100


def test_limits_and_budget_do_not_change_the_stage_s_address(tmp_path: Path) -> None:
    with serving(lambda asked: verdict()) as server:
        flow.run(tmp_path, 5, flow.llm(server.url))
        changed = flow.llm("http://127.0.0.1:9/v1", rpm=7, budget_requests=3, timeout_s=1)
        [_, line] = flow.run(tmp_path, 5, changed)
        assert line.unchanged
        [_, line] = flow.run(tmp_path, 5, flow.llm(server.url, votes=2))
        assert not line.unchanged
        assert server.count == 10, "the first vote is remembered"


def test_rows_beyond_the_budget_fail_and_the_next_run_does_them(tmp_path: Path) -> None:
    with serving(lambda asked: verdict()) as server:
        [_, line] = flow.run(tmp_path, 10, flow.llm(server.url, budget_requests=6))
        assert line.result.rows == {"in": 10, "kept": 6, "removed": 0, "failed": 4}
        [_, line] = flow.run(tmp_path, 10, flow.llm(server.url, budget_requests=60))
        assert line.result.rows == {"in": 10, "kept": 10, "removed": 0, "failed": 0}
        assert server.count == 10


def test_workers_give_the_same_bytes_and_ask_each_question_once(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(f"L{len(asked.user) % 6}")) as server:
        [_, alone] = flow.run(tmp_path / "a", 40, flow.llm(server.url))
        [_, spread] = flow.run(tmp_path / "b", 40, flow.llm(server.url), workers=2)
        assert server.count == 80
    assert alone.result.manifest["files"] == spread.result.manifest["files"]


def test_the_key_is_in_no_file_of_the_store(tmp_path: Path) -> None:
    with serving(lambda asked: verdict()) as server:
        flow.run(tmp_path, 3, flow.llm(server.url))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert os.environ["OPENAI_API_KEY"] == KEY
    assert "base_url" not in Store(tmp_path).result("label").manifest["address"]["settings"]  # type: ignore[union-attr]
