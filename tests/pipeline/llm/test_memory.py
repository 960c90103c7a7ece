"""A paid answer is not paid again: the cache, and runs that were stopped."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.llm.store import FILE, open_store, spent_between
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, asking, outcomes, settings_for
from tests.pipeline.llm.scripted import serving, verdict


def test_a_rerun_sends_nothing_and_costs_nothing(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        settings = settings_for(server.url, model="priced")
        first = ask(10, settings, place)
        cost = spent_between(place.cache)
        assert ask(10, settings, place) == first
        assert server.count == 10
        assert spent_between(place.cache) == cost


def test_a_remembered_run_needs_neither_endpoint_nor_key(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        ask(3, settings_for(server.url), place)
    settings = settings_for("https://api.openai.com/v1")
    assert outcomes(ask(3, settings, place)) == ["L2"] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"temperature": 0.3},
        {"max_tokens": 99},
        {"reasoning_effort": "low"},
        {"extra_body": {"top_k": 3}},
    ],
    ids=str,
)
def test_model_and_parameters_are_part_of_what_is_remembered(
    change: dict[str, object], place: Workplace
) -> None:
    with serving(lambda asked: verdict()) as server:
        ask(1, settings_for(server.url), place)
        ask(1, settings_for(server.url, **change), place)
        assert server.count == 2


@pytest.mark.parametrize(
    "change",
    [
        {"concurrency": 2},
        {"timeout_s": 3},
        {"rpm": 9999},
        {"budget_requests": 10},
        {"max_wait_s": 1},
    ],
    ids=str,
)
def test_limits_are_not(change: dict[str, object], place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        settings = settings_for(server.url)
        changed = settings_for(server.url, **change)
        ask(1, settings, place)
        ask(1, changed, place)
        assert server.count == 1
        assert settings.model_dump() == changed.model_dump(), "nor of the stage's address"


def test_prompt_version_sample_and_content_are(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        for question in (
            asking("a"), asking("b"), asking("a", sample=1), asking("a", prompt_version="p2"),
            asking("a"),
        ):  # fmt: skip
            ask([question], settings_for(server.url), place)
        assert server.count == 4
        seeds = [request.json.get("seed") for request in server.requests]
    assert seeds == [None, None, 1, None]


def test_equal_questions_are_asked_once(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        answers = ask([asking("a"), asking("b"), asking("a")], settings_for(server.url), place)
        assert outcomes(answers) == ["L2"] * 3
        assert server.count == 2


def test_a_damaged_cache_is_put_aside(place: Workplace) -> None:
    place.cache.mkdir()
    (place.cache / FILE).write_bytes(b"this is no database" * 100)
    with serving(lambda asked: verdict()) as server:
        assert outcomes(ask(1, settings_for(server.url), place)) == ["L2"]
    assert (place.cache / "llm.damaged").exists()


def _write_many(folder: Path, name: int) -> int:
    from pipeline.llm.prices import Usage

    for number in range(200):
        with open_store(folder) as store:
            store.remember(f"{name}-{number}", "{}", "m", "m", Usage(1, 1))
            store.spend("m", Usage(1, 1), 0.5)
    return 200


def test_several_processes_may_write_the_cache_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
        list(pool.map(_write_many, [tmp_path] * 3, range(3)))
    assert spent_between(tmp_path).requests == 600
    with open_store(tmp_path) as store:
        assert all(store.reply(f"{name}-199") for name in range(3))


_RUN = """
import sys, time
from pathlib import Path
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, settings_for
folder = Path(sys.argv[1])
place = Workplace(folder / "cache", folder, folder, tell=lambda t: print(t, flush=True))
print("begin", flush=True)
print(len(ask(100, settings_for(sys.argv[2], concurrency=4), place)))
"""


def _start(folder: Path, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, str(folder), url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )


def _until(condition: "object", seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def test_killed_at_60_percent_the_rerun_sends_only_what_is_missing(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(wait_s=0.02)) as server:
        run = _start(tmp_path, server.url)
        _until(lambda: server.count >= 60)
        run.send_signal(signal.SIGKILL)
        run.wait()
        sent = server.count
        place = Workplace(tmp_path / "cache", tmp_path, tmp_path)
        answers = ask(100, settings_for(server.url), place)
        assert outcomes(answers) == ["L2"] * 100
        lost = server.count - 100
        assert 0 <= lost <= 4, "at most what was in flight is asked again"
        assert server.count - sent <= 40 + 4


def test_ctrl_c_ends_within_5_seconds_and_keeps_every_paid_answer(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(wait_s=1.0)) as server:
        run = _start(tmp_path, server.url)
        _until(lambda: server.count >= 10)
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=20)
        assert time.monotonic() - began < 5
        assert "KeyboardInterrupt" in err
        assert "answers are kept; the same command goes on" in out
        sent = server.count
        server.script = lambda asked: verdict()
        place = Workplace(tmp_path / "cache", tmp_path, tmp_path)
        assert outcomes(ask(100, settings_for(server.url), place)) == ["L2"] * 100
        assert server.count == 100, f"{sent} were sent before, and each was kept"


def test_ctrl_c_does_not_wait_for_an_endpoint_that_hangs(tmp_path: Path) -> None:
    with serving(lambda asked: verdict(wait_s=60)) as server:
        run = _start(tmp_path, server.url)
        _until(lambda: server.count >= 4)
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
        assert time.monotonic() - began < 5
