"""Short words for tests: a question, settings, what came back."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pipeline.llm import Answer, LlmSettings, Message, Miss, Question
from pipeline.llm import ask as ask_all
from pipeline.stage import Workplace


class Verdict(BaseModel):
    """The form that the scripted server answers in."""

    model_config = ConfigDict(extra="forbid")

    rationale: str
    level: Literal["L0", "L1", "L2", "L3", "L4", "L5", "abstain"]


def asking(text: str = "how hard?", **fields: Any) -> Question:
    messages = (Message("system", "You judge."), Message("user", text))
    return Question(messages, Verdict, fields.pop("prompt_version", "p1"), **fields)


def settings_for(url: str, **fields: Any) -> LlmSettings:
    return LlmSettings(**({"model": "m", "base_url": url, "max_wait_s": 5} | fields))


def ask(
    questions: Sequence[Question] | int, settings: LlmSettings, place: Workplace
) -> list[Answer | Miss]:
    if isinstance(questions, int):
        questions = [asking(f"problem {number}") for number in range(questions)]
    return ask_all(questions, settings, place)


def outcomes(answers: Sequence[Answer | Miss]) -> list[str]:
    """The level that was answered, or the reason why there is none."""
    return [
        answer.reason if isinstance(answer, Miss) else str(getattr(answer.value, "level", ""))
        for answer in answers
    ]
