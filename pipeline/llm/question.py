"""What goes into the room and what comes out."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True)
class Question:
    """What is asked, and the form that the answer must have."""

    messages: tuple[Message, ...]
    shape: type[BaseModel]  # the answer: a pydantic model that forbids extra keys
    prompt_version: str  # part of the cache key: an old prompt's answers are not taken for new
    sample: int = 0  # which of several independent answers to one question


@dataclass(frozen=True)
class Answer:
    """A reply that has been checked against the question's shape."""

    value: BaseModel


@dataclass(frozen=True)
class Miss:
    """There is no answer. `reason` is a code for the ledger, `detail` one line for a person.

    Reasons: truncated, refused, filtered, invalid_reply, rejected, budget, rate_limited,
    no_answer, endpoint_down, pending.
    """

    reason: str
    detail: str = ""
