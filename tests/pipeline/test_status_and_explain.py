"""status says what would run and why; explain tells a row's way."""

from pathlib import Path

import pytest

from pipeline.again import decide_again, told
from pipeline.errors import UsageError
from pipeline.explain import story
from pipeline.progress import Watch
from pipeline.run import Plan
from pipeline.stage import Settings
from pipeline.status import State, stage_states
from pipeline.store import Store
from tests.pipeline import toy


def states(root: Path, numbers, **tables: Settings) -> list[State]:
    plan = Plan(toy.STAGES, toy.recipe(numbers, **tables), Store(root), root, Watch())
    return stage_states(plan)


def test_before_the_first_run_everything_is_missing(tmp_path: Path) -> None:
    assert [state.state for state in states(tmp_path, [1])] == [
        "missing",
        "waiting",
        "waiting",
        "waiting",
    ]


def test_after_a_run_everything_is_done(tmp_path: Path) -> None:
    toy.run(tmp_path, range(20))
    assert {state.state for state in states(tmp_path, range(20))} == {"done"}


def test_the_key_that_changed_is_named(tmp_path: Path) -> None:
    toy.run(tmp_path, range(20))
    found = states(tmp_path, range(20), square=toy.SquareSettings(offset=5))
    assert [state.state for state in found] == ["done", "done", "changed", "waiting"]
    assert found[2].why == "settings.offset: 0 → 5"


def test_failed_rows_are_said_to_be_tried_again(tmp_path: Path) -> None:
    bad = toy.SquareSettings(fail_on=[1])
    toy.run(tmp_path, [1, 2], square=bad)
    assert states(tmp_path, [1, 2], square=bad)[2].why == "1 failed rows are tried again"


def test_a_row_is_followed_from_file_to_rank(tmp_path: Path) -> None:
    toy.run(tmp_path, [12])
    told = story("f00012-1", toy.STAGES, Store(tmp_path))
    assert [(step.stage, step.outcome) for step in told.steps] == [
        ("split", "kept"), ("square", "kept"), ("rank", "kept"),
    ]  # fmt: skip
    assert told.steps[1].told == {"square": 4}


def test_a_failed_row_says_why(tmp_path: Path) -> None:
    toy.run(tmp_path, [7], square=toy.SquareSettings(fail_on=[7]))
    step = story("f00007-0", toy.STAGES, Store(tmp_path)).steps[-1]
    assert (step.outcome, step.told["reason"], step.told["detail"]) == (
        "failed",
        "asked_to",
        "part 7",
    )


def test_an_unknown_or_ambiguous_prefix_is_one_line(tmp_path: Path) -> None:
    toy.run(tmp_path, [12, 13])
    with pytest.raises(UsageError, match="no row starts with 'zzz'"):
        story("zzz", toy.STAGES, Store(tmp_path))
    with pytest.raises(UsageError, match="fits 6 rows"):
        story("f0001", toy.STAGES, Store(tmp_path))


def test_a_row_is_decided_again_alone_with_nothing_remembered(tmp_path: Path) -> None:
    toy.run(tmp_path, [7])
    bad = toy.recipe([7], square=toy.SquareSettings(fail_on=[7]))
    plan = Plan(toy.STAGES, bad, Store(tmp_path), tmp_path, Watch())
    assert told(decide_again(plan, "square", "f00007-0")[0]).startswith("failed: ")
    good = Plan(toy.STAGES, toy.recipe([7]), Store(tmp_path), tmp_path, Watch())
    assert told(decide_again(good, "square", "f00007-0")[0]) == "kept"


@pytest.mark.parametrize(
    ("stage", "row", "words"),
    [("cube", "f00007-0", "no stage 'cube'"), ("rank", "f00007-0", "all rows together"),
     ("square", "f9", "did not come as far as square")],
)  # fmt: skip
def test_what_cannot_be_decided_alone_is_said(
    tmp_path: Path, stage: str, row: str, words: str
) -> None:
    toy.run(tmp_path, [7])
    plan = Plan(toy.STAGES, toy.recipe([7]), Store(tmp_path), tmp_path, Watch())
    with pytest.raises(UsageError, match=words):
        decide_again(plan, stage, row)
