"""From the text of a reply to a checked value. A doubtful reply is no reply."""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.llm.question import Answer, Miss

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_SHOWN = 200  # letters of a bad reply that a person gets to see


def read_choice(choice: dict[str, Any], shape: type[BaseModel]) -> Answer | Miss:
    """One choice of a chat completion, checked.

    A reply that was cut off, refused or filtered is a miss even if what there is of it looks valid.
    """
    message = choice.get("message") or {}
    reason = choice.get("finish_reason")
    if reason == "length":
        return Miss("truncated", "the reply was cut off at max_tokens")
    if reason == "content_filter":
        return Miss("filtered", "the endpoint's content filter stopped the reply")
    if message.get("refusal"):
        return Miss("refused", _short(str(message["refusal"])))
    text = message.get("content")
    if not isinstance(text, str) or not text.strip():
        return Miss("invalid_reply", f"empty reply (finish_reason {reason!r})")
    return read_text(text, shape)


def read_text(text: str, shape: type[BaseModel]) -> Answer | Miss:
    """The value in a text: the text itself, else a fenced block, else an object within prose.

    The plain text comes first: stripping fences would damage valid JSON that holds a fence in a
    string. Objects in prose must agree, or the reply is ambiguous.
    """
    trouble = "no JSON object in it"
    for candidates in (_plain(text), _fenced(text), _within(text)):
        values: list[BaseModel] = []
        for candidate in candidates:
            try:
                values.append(shape.model_validate(candidate))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(str(part) for part in first["loc"])
                trouble = f"{place}: {first['msg']}" if place else str(first["msg"])
        if values and all(value == values[0] for value in values):
            return Answer(values[0])
        if values:
            return Miss("invalid_reply", f"ambiguous, several answers in one: {_short(text)}")
    return Miss("invalid_reply", f"{trouble}: {_short(text)}")


def _plain(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except ValueError:
        return


def _fenced(text: str) -> Iterator[Any]:
    for block in _FENCED.findall(_THOUGHTS.sub("", text)):
        yield from _plain(block)


def _within(text: str) -> Iterator[Any]:
    decoder, rest = json.JSONDecoder(), _THOUGHTS.sub("", text)
    start = rest.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(rest, start)
            yield value
        except ValueError:
            end = start + 1
        start = rest.find("{", end)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
