"""Children of a GPU machine: whatever a program does costs its own record."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stages.measure.carried import write_package
from stages.measure.pool import Job, Pool, place_of
from tests.stages.measure import programs


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("package")
    write_package(folder)
    pool = Pool(folder, place_of("cpu", lambda text: None), workers=2, rules={"runs": 3})
    with pool:
        yield pool


def job(name: str, code: str, modes: tuple[str, ...] = ("eager",)) -> Job:
    fixed = {"dtype": "float32", "tf32": False, "working_set": 2**20}
    return {"job": name, "problem_id": name, "code": code, "modes": list(modes), **fixed}


def running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command in path.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                return True
        except OSError:
            continue
    return False


def test_a_hanging_program_is_ended_with_all_that_it_started_and_the_next_is_measured(
    pool: Pool,
) -> None:
    pool.limits_s["count"] = 2.0
    started = time.monotonic()
    jobs = [job("hangs", programs.HANGS), job("good", programs.GOOD)]
    answers = {done["job"]: answer for done, answer in pool.measure(jobs)}
    pool.limits_s["count"] = 60.0
    assert answers["hangs"]["records"][0]["status"] == "timeout"
    assert "count" in answers["hangs"]["records"][0]["detail"]
    assert answers["good"]["records"][0]["status"] in ("ok", "noisy")
    assert time.monotonic() - started < 60
    assert not running("sleep 987")


def test_a_compilation_beyond_its_limit_costs_the_compiled_reading_and_not_the_eager_one(
    pool: Pool,
) -> None:
    pool.limits_s["compile"] = 0.3  # what ten minutes are to the real limit
    jobs = [job("slow", programs.GOOD, ("eager", "inductor")), job("good", programs.OTHER)]
    answers = {done["job"]: answer["records"] for done, answer in pool.measure(jobs)}
    pool.limits_s["compile"] = 300.0
    eager, compiled = answers["slow"]
    assert eager["status"] in ("ok", "noisy")
    assert (compiled["status"], compiled["detail"]) == ("timeout", "in phase compile")
    assert answers["good"][0]["status"] in ("ok", "noisy")


def test_each_way_to_end_badly_is_a_record_for_every_mode(pool: Pool) -> None:
    jobs = [
        job("dies", programs.DIES, ("eager", "inductor")),
        job("leaves", programs.LEAVES, ("eager", "inductor")),
        job("no_tensor", programs.NO_TENSOR, ("eager", "inductor")),
    ]
    answers = {done["job"]: answer["records"] for done, answer in pool.measure(jobs)}
    assert [record["status"] for record in answers["dies"]] == ["crash", "crash"]
    assert "signal 11" in answers["dies"][0]["detail"]
    assert [record["status"] for record in answers["leaves"]] == ["crash", "crash"]
    assert [record["status"] for record in answers["no_tensor"]] == ["error", "error"]


def test_the_shapes_of_a_problem_share_a_child_until_one_of_them_ends_it(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[list[str]] = []
    begin = pool._begin

    def noted(jobs: list[Job], *arguments: Any, **options: Any) -> None:
        begun.append([job["job"] for job in jobs])
        begin(jobs, *arguments, **options)

    monkeypatch.setattr(pool, "_begin", noted)
    codes = {"a": programs.GOOD, "b": programs.DIES, "c": programs.OTHER, "d": programs.GOOD}
    jobs = [job(name, code) | {"problem_id": "one problem"} for name, code in codes.items()]
    answers = {done["job"]: answer["records"] for done, answer in pool.measure(jobs)}
    assert begun == [["a", "b", "c", "d"], ["c", "d"]]
    assert {name: [r["key"] for r in records] for name, records in answers.items()} == {
        name: [name] for name in codes
    }
    assert answers["b"][0]["status"] == "crash"
    assert all(answers[name][0]["status"] in ("ok", "noisy") for name in "acd")


def test_a_child_begins_no_further_job_after_the_budget(pool: Pool) -> None:
    jobs = [job("slow", programs.SLOW_TO_LOAD), job("next", programs.GOOD)]
    jobs = [each | {"problem_id": "one problem"} for each in jobs]
    done = [each["job"] for each, _ in pool.measure(jobs, until=time.monotonic() + 0.5)]
    assert done == ["slow"]


def test_a_job_that_the_budget_overtakes_at_its_start_is_no_crash(pool: Pool) -> None:
    until = time.monotonic() + 0.02  # before a child can have begun
    [(_, answer)] = pool.measure([job("last", programs.GOOD)], until=until)
    assert answer["records"][0]["status"] in ("ok", "noisy")


def test_what_is_not_done_soon_after_the_budget_is_ended_without_an_answer(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[Pool.__module__], "GRACE_S", 1.0)
    started = time.monotonic()
    assert list(pool.measure([job("hangs", programs.HANGS)], until=started + 1)) == []
    assert time.monotonic() - started < 20
    assert not running("sleep 987")
    ((_, answer),) = pool.measure([job("good", programs.GOOD)])
    assert answer["records"][0]["status"] in ("ok", "noisy")


def test_no_job_is_begun_after_the_budget(pool: Pool) -> None:
    assert list(pool.measure([job("good", programs.GOOD)], until=time.monotonic() - 1)) == []
