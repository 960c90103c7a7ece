"""What monitoring reads: run.json, the Prometheus file, the log; on failure too."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from pipeline import release
from pipeline.errors import StoreError
from pipeline.events import KEEP, Events, retire, run_id
from pipeline.llm.store import FILE
from pipeline.outcome import Progress, outcome, prometheus, recorded
from pipeline.progress import Watch
from pipeline.run import Plan, run_stages
from pipeline.store import Store
from tests.pipeline import toy

SAMPLE = re.compile(r'kernelset_[a-z_]+(\{([a-z]+="(\\.|[^"\\\n])*",?)+\})? -?[0-9.e+]+')


def progress_of(root: Path, numbers=(12, 13), **tables) -> Progress:
    run = run_id()
    events = Events(run, root / "logs" / f"{run}.jsonl")
    watch = Watch(Console(quiet=True))
    plan = Plan(
        toy.STAGES, toy.recipe(numbers, **tables), Store(root), root, watch, 0, events=events
    )
    plan.store.prepare()
    return Progress(plan)


def whole_run(root: Path, numbers=(12, 13), **tables) -> dict:
    progress = progress_of(root, numbers, **tables)
    with recorded(progress):
        lines = run_stages(progress.plan, progress.lines)
        progress.release = release.publish(progress.plan, lines)
    return json.loads((root / "run.json").read_text())


def test_a_run_tells_rows_seconds_cost_and_the_release(tmp_path: Path) -> None:
    told = whole_run(tmp_path)
    assert told["outcome"] == "published"
    assert [stage["stage"] for stage in told["stages"]] == ["start", "split", "square", "rank"]
    assert told["stages"][1] == {
        "stage": "split", "in": 4, "kept": 4, "removed": 0, "failed": 0,
        "new": 2, "unchanged": False, "seconds": told["stages"][1]["seconds"],
    }  # fmt: skip
    assert told["cost"] == {"requests": 0, "dollars": 0}
    assert told["newest_release"] == Path(told["release"]).name
    assert told["newest_release_rows"] == 4
    assert 0 <= told["newest_release_age_s"] < 60
    assert json.loads((tmp_path / "runs" / f"{told['run']}.json").read_text()) == told
    assert whole_run(tmp_path)["outcome"] == "unchanged"


def test_a_run_that_ends_badly_is_told_and_the_release_before_keeps_its_age(tmp_path: Path) -> None:
    good = whole_run(tmp_path)
    progress = progress_of(tmp_path, [12, 14])
    with pytest.raises(StoreError), recorded(progress):
        run_stages(progress.plan, progress.lines)
        raise StoreError("disk: no space left\nmore words")
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["outcome"], told["error"]) == ("StoreError", "disk: no space left")
    assert len(told["stages"]) == 4
    assert told["newest_release"] == good["newest_release"]
    assert "kernelset_run_success 0" in (tmp_path / "metrics" / "kernelset.prom").read_text()


def test_the_metrics_are_in_the_text_format_of_prometheus(tmp_path: Path) -> None:
    told = whole_run(tmp_path, square=toy.SquareSettings(fail_on=[3]))
    text = (tmp_path / "metrics" / "kernelset.prom").read_text()
    assert text == prometheus(told)
    assert text.endswith("\n")
    typed = set()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            name = line.split()[2]
            assert name not in typed
            typed.add(name)
        elif not line.startswith("# HELP"):
            assert SAMPLE.fullmatch(line), line
            assert re.split("[{ ]", line)[0] in typed
    assert 'kernelset_stage_rows{stage="square",outcome="failed"} 1\n' in text
    assert "kernelset_run_failed_rows 1\n" in text
    assert "kernelset_run_success 1\n" in text


def test_a_label_can_not_break_out_of_its_quotes(tmp_path: Path) -> None:
    told = outcome(progress_of(tmp_path)) | {"recipe": 'a"} 1\nb\\'}
    (line,) = [x for x in prometheus(told).splitlines() if x.startswith("kernelset_run_info")]
    assert SAMPLE.fullmatch(line)


def test_every_line_of_the_log_has_the_runs_id(tmp_path: Path) -> None:
    told = whole_run(tmp_path)
    (log,) = (tmp_path / "logs").glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["run"] for line in lines} == {told["run"]} == {log.stem}
    events = [line["event"] for line in lines]
    assert (events[0], events[-1]) == ("run_started", "run_ended")
    assert events.count("stage_done") == 4
    assert sum(line["rows"] for line in lines if line["event"] == "batch_done") == 2 + 2 + 4


def test_what_language_models_cost_since_the_run_began_is_told(tmp_path: Path) -> None:
    import time

    from pipeline.llm.store import open_store

    progress = progress_of(tmp_path)
    cache = progress.plan.store.cache("square")
    with open_store(cache) as store:
        for when, dollars in ((progress.began - 60, 8.0), (time.time() + 1, 0.25)):
            store._connection.execute(
                "INSERT INTO spending VALUES (?, 'm', 1, 10, 10, ?)", (when, dollars)
            )
    assert (cache / FILE).exists()
    assert outcome(progress)["cost"] == {"requests": 1, "dollars": 0.25}


def test_a_log_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    assert whole_run(tmp_path)["outcome"] == "published"


def test_old_logs_go(tmp_path: Path) -> None:
    for number in range(KEEP + 3):
        (tmp_path / f"2026{number:04d}.jsonl").touch()
    retire(tmp_path, "*.jsonl")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert (len(left), left[0]) == (KEEP, "20260003.jsonl")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_has_bars_and_a_file_has_plain_lines(terminal: bool) -> None:
    screen = io.StringIO()
    watch = Watch(Console(file=screen, force_terminal=terminal, width=100))
    with watch.bar("validate", "running programs", 2) as bar:
        bar.advance(2, 1, 1)
    assert ("\x1b[" in screen.getvalue()) == terminal
    assert ("validate: running programs, 2 rows" in screen.getvalue()) != terminal


def test_a_stages_notes_are_few_and_the_last_is_shown() -> None:
    screen = io.StringIO()
    watch = Watch(Console(file=screen))
    shown = [watch.note(f"[{number}] answers") for number in range(5)]
    assert shown == [True, False, False, False, False]
    assert watch.last_note() == "[4] answers"
    assert screen.getvalue().splitlines() == ["[0] answers", "[4] answers"]
