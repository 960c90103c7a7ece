"""The LLM judge: votes, their majority, and what is not known is failed and never L0."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.stage import Failed, Kept, Outcome, Workplace
from schemas.problem import DIFFICULTY
from stages.label import STAGE
from stages.label.llm import majority
from stages.label.prompt import PROMPT_VERSION
from stages.label.settings import LabelSettings
from tests.pipeline.llm.scripted import Asked, Said, Script, completion, serving, verdict
from tests.stages.label.rows import CODE, row


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(cache=tmp_path / "cache", shared=tmp_path, data=tmp_path)


def voting(levels: Sequence[str]) -> Script:
    """The n-th vote on a problem says the n-th level."""

    def script(asked: Asked) -> Said:
        level = levels[asked.json.get("seed", 0)]
        return verdict(level, f"because of {level}")

    return script


def judge(script: Script, place: Workplace, rows: int = 1, **fields: object) -> list[Outcome]:
    with serving(script) as server:
        settings = LabelSettings(
            **({"judge": "llm", "model": "m", "base_url": server.url} | fields)  # type: ignore[arg-type]
        )
        some = [row(CODE.replace("256", str(256 + n)), problem_id=str(n)) for n in range(rows)]
        return [outcome for [outcome] in STAGE.work(some, settings, place)]


def test_the_majority_decides_and_the_row_says_who_and_how_sure(place: Workplace) -> None:
    [outcome] = judge(voting(["L3", "L4", "L3"]), place)
    assert isinstance(outcome, Kept)
    assert outcome.columns == {
        "level": "L3",
        "judge": f"m {PROMPT_VERSION}",
        "agreement": pytest.approx(2 / 3),
        "rationale": "because of L3",
    }
    assert list(outcome.columns) == [field.name for field in DIFFICULTY]


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        (["L2"], "L2"),
        (["L0", "L5", "L5"], "L5"),
        (["L1", "L2", "L3"], "L2"),
        (["L1", "L2"], "L1"),
        (["L0", "L0", "L4", "L5", "L5"], "L5"),
        (["L0", "L0", "L1", "L5", "L5"], "L0"),
    ],
)
def test_a_tie_goes_to_the_level_nearest_to_the_middle_vote(levels: list[str], level: str) -> None:
    assert majority(levels) == level
    assert majority(levels[::-1]) == level


def test_a_judge_that_abstains_fails_the_row(place: Workplace) -> None:
    [outcome] = judge(voting(["abstain", "L2", "abstain"]), place)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "abstained"


def test_a_single_abstention_lowers_the_agreement(place: Workplace) -> None:
    [outcome] = judge(voting(["abstain", "L2", "L2"]), place)
    assert isinstance(outcome, Kept)
    assert outcome.columns["agreement"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (verdict("L0", finish="length"), "truncated"),
        (completion(None, refusal="no"), "refused"),
        (verdict("L0", finish="content_filter"), "filtered"),
        (completion("L0"), "invalid_reply"),
        (completion('{"level": "L0"}'), "invalid_reply"),
    ],
    ids=["truncated", "refused", "filtered", "not JSON", "field missing"],
)
def test_one_bad_vote_fails_the_row_and_never_gives_it_the_lowest_level(
    said: Said, reason: str, place: Workplace
) -> None:
    def script(asked: Asked) -> Said:
        return said if asked.json.get("seed") == 1 else verdict("L3")

    [outcome] = judge(script, place)
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason


def test_the_next_run_asks_only_for_the_vote_that_was_bad(place: Workplace) -> None:
    def script(asked: Asked) -> Said:
        sick = asked.json.get("seed") == 2 and asked.number < 9
        return completion("?") if sick else verdict("L3")

    with serving(script) as server:
        settings = LabelSettings(judge="llm", model="m", base_url=server.url)
        rows = [row(CODE.replace("256", str(256 + n))) for n in range(3)]
        assert all(isinstance(o, Failed) for [o] in STAGE.work(rows, settings, place))
        assert all(isinstance(o, Kept) for [o] in STAGE.work(rows, settings, place))
        assert server.count == 9 + 3


def test_a_used_up_budget_fails_the_rest(place: Workplace) -> None:
    outcomes = judge(lambda asked: verdict(), place, rows=10, votes=1, budget_requests=4)
    reasons = [o.reason if isinstance(o, Failed) else "kept" for o in outcomes]
    assert sorted(reasons) == ["budget"] * 6 + ["kept"] * 4


def test_unreadable_code_fails_alone(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        settings = LabelSettings(judge="llm", model="m", base_url=server.url, votes=1)
        rows = [row(), row("def ("), row(CODE.replace("256", "512")), row("x = " + "(" * 300)]
        outcomes = [outcome for [outcome] in STAGE.work(rows, settings, place)]
    assert [type(outcome) for outcome in outcomes] == [Kept, Failed, Kept, Failed]
    assert outcomes[1] == Failed("unreadable_code", outcomes[1].detail)  # type: ignore[union-attr]


def test_the_outcome_does_not_depend_on_the_batch(place: Workplace) -> None:
    def script(asked: Asked) -> Said:
        return verdict(f"L{len(asked.user) % 6}")

    together = judge(script, place, rows=6, votes=1)
    fresh = Workplace(place.cache / "other", place.shared, place.data)
    with serving(script) as server:
        settings = LabelSettings(judge="llm", model="m", base_url=server.url, votes=1)
        alone = [
            STAGE.work([row(CODE.replace("256", str(256 + n)))], settings, fresh)[0][0]
            for n in range(6)
        ]
    assert alone == together


def test_a_long_rationale_is_cut_and_put_on_one_line(place: Workplace) -> None:
    [outcome] = judge(lambda asked: verdict("L1", "word\n" * 500), place, votes=1)
    assert isinstance(outcome, Kept)
    assert len(outcome.columns["rationale"]) <= 300
    assert "\n" not in outcome.columns["rationale"]


def test_votes_are_told_apart_on_the_wire_and_share_everything_else(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        settings = LabelSettings(judge="llm", model="m", base_url=server.url, temperature=0.7)
        STAGE.work([row()], settings, place)
        bodies = [json.loads(asked.body) for asked in server.requests]
    assert sorted(body.pop("seed", 0) for body in bodies) == [0, 1, 2]
    assert bodies[0] == bodies[1] == bodies[2]


def test_rubric_and_prompt_are_part_of_the_stage_s_identity() -> None:
    by_llm = STAGE.identity(LabelSettings(judge="llm", model="m"), Path())
    by_rules = STAGE.identity(LabelSettings(), Path())
    assert by_llm == {"prompt": PROMPT_VERSION}
    assert by_rules == {"rules": "rules-v1"}


@pytest.mark.parametrize(
    "fields",
    [
        {"judge": "llm"},
        {"judge": "llm", "model": "m", "temperature": 0, "votes": 3},
        {"votes": 0},
        {"judge": "oracle"},
        {"budget_dollars": -1},
    ],
    ids=["no model", "votes at temperature 0", "no vote", "unknown judge", "negative budget"],
)
def test_impossible_settings_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LabelSettings(**fields)  # type: ignore[arg-type]
