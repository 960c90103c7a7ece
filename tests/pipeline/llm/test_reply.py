"""A reply's text becomes a checked value, or a miss: never a guess."""

import json

import pytest

from pipeline.llm.question import Answer, Miss
from pipeline.llm.reply import read_choice, read_text
from pipeline.llm.schema import strict_schema
from tests.pipeline.llm.asking import Verdict

GOOD = '{"rationale": "one pass", "level": "L2"}'
WITH_FENCE = json.dumps({"rationale": "like ```json\n{}\n``` here", "level": "L3"})


@pytest.mark.parametrize(
    ("text", "level"),
    [
        (GOOD, "L2"),
        (f"\n  {GOOD}\n", "L2"),
        (f"```json\n{GOOD}\n```", "L2"),
        (f"```\n{GOOD}\n```", "L2"),
        (f"Here is my answer:\n```json\n{GOOD}\n```\nHope it helps.", "L2"),
        (f"The level follows. {GOOD} Done.", "L2"),
        (f"<think>maybe {GOOD.replace('L2', 'L5')}</think>\n{GOOD}", "L2"),
        (WITH_FENCE, "L3"),
        (f"{GOOD}\n{GOOD}", "L2"),
    ],
    ids=[
        "plain", "spaces", "fenced", "fenced without a language", "fenced in prose", "in prose",
        "after thoughts", "valid JSON with a fence in a string", "said twice",
    ],
)  # fmt: skip
def test_an_answer_is_found_in_every_usual_wrapping(text: str, level: str) -> None:
    read = read_text(text, Verdict)
    assert isinstance(read, Answer)
    assert read.value == Verdict(rationale=read.value.rationale, level=level)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't judge this.",
        '{"rationale": "cut o',
        '{"rationale": "no level"}',
        '{"level": "L2"}',
        '{"rationale": "r", "level": "L9"}',
        '{"rationale": "r", "level": "l2"}',
        '{"rationale": "r", "level": 2}',
        '{"rationale": "r", "level": "L2", "score": 1}',
        "{}",
        "null",
        f"{GOOD} or rather {GOOD.replace('L2', 'L4')}",
    ],
)
def test_a_doubtful_reply_is_a_miss_and_never_the_lowest_level(text: str) -> None:
    read = read_text(text, Verdict)
    assert isinstance(read, Miss)
    assert read.reason == "invalid_reply"


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"finish_reason": "length", "message": {"content": GOOD}}, "truncated"),
        ({"finish_reason": "content_filter", "message": {"content": GOOD}}, "filtered"),
        ({"finish_reason": "stop", "message": {"content": GOOD, "refusal": "no"}}, "refused"),
        ({"finish_reason": "stop", "message": {"content": None}}, "invalid_reply"),
        ({"finish_reason": "tool_calls", "message": {}}, "invalid_reply"),
        ({}, "invalid_reply"),
    ],
)
def test_a_reply_that_was_stopped_is_a_miss_even_if_it_looks_valid(
    choice: dict[str, object], reason: str
) -> None:
    read = read_choice(choice, Verdict)
    assert isinstance(read, Miss)
    assert read.reason == reason


def test_the_schema_on_the_wire_asks_for_every_key_and_no_other() -> None:
    schema = strict_schema(Verdict)
    assert schema["required"] == ["rationale", "level"]
    assert schema["additionalProperties"] is False
    assert "title" not in json.dumps(schema)
