"""One HTTP request by the openai package: what is sent, and what its outcome means."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.llm.errors import EndpointError
from pipeline.llm.prices import Usage
from pipeline.llm.question import Miss, Question
from pipeline.llm.retry import PASSING
from pipeline.llm.schema import strict_schema
from pipeline.llm.settings import LlmSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LETTERS_PER_TOKEN = 3.0  # code has short tokens; on the high side, because it reserves money
FORMATS = ("json_schema", "json_object_schema", "json_object", "text")
"""Ways to ask for JSON, best first. Servers differ: llama-cpp-python knows the second only."""

_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "grammar", "structured output")
_EVERYONE = frozenset(
    ("model_not_found", "unsupported_parameter", "unsupported_value", "unknown_parameter",
     "invalid_api_key", "insufficient_quota", "billing_hard_limit_reached", 401, 402)
)  # fmt: skip
"""Codes and statuses that concern every request alike: going on would be of no use."""

_EVERYONE_AT_FIRST = frozenset((403, 404, 405))
"""The same, unless the endpoint has answered before: then a proxy dislikes this one prompt."""

_FILTERED = frozenset(("content_filter", "content_policy_violation"))


@dataclass(frozen=True)
class Reply:
    """HTTP 200 with JSON in it."""

    choice: dict[str, Any]
    served: str
    usage: Usage


@dataclass(frozen=True)
class Passing:
    """It may work a moment later. `sent` is whether the endpoint may have worked, and charge."""

    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bool = False
    limited: bool = False  # the endpoint asks us to slow down


@dataclass(frozen=True)
class NoSuchFormat:
    """The endpoint does not know this way to ask for JSON."""

    text: str


def request_body(question: Question, settings: LlmSettings, way: str) -> dict[str, Any]:
    """The JSON that is sent."""
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": m.role, "content": m.text} for m in question.messages],
        _limit_name(settings.base_url): settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort:
        body["reasoning_effort"] = settings.reasoning_effort
    if question.sample:
        # Servers that sample by a fixed seed would give every vote the same answer.
        body["seed"] = question.sample
    schema = strict_schema(question.shape)
    if way == "json_schema":
        named = {"name": question.shape.__name__.lower(), "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif way == "json_object_schema":
        body["response_format"] = {"type": "json_object", "schema": schema}
    elif way == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body | settings.extra_body


def expected_usage(question: Question, settings: LlmSettings) -> Usage:
    """The most that a request may use."""
    letters = sum(len(message.text) for message in question.messages)
    return Usage(int(letters / LETTERS_PER_TOKEN) + 16, settings.max_tokens)


def open_client(settings: LlmSettings) -> "AsyncOpenAI":
    """A client of the endpoint, without retries of its own.

    Raises:
        EndpointError: the endpoint needs a key and the environment has none.
    """
    from openai import AsyncOpenAI

    return AsyncOpenAI(
        api_key=secret(settings) or "none",
        base_url=settings.base_url,
        max_retries=0,
        timeout=settings.timeout_s,
    )


def secret(settings: LlmSettings) -> str:
    """The key; empty where none is needed."""
    if not settings.model:
        raise EndpointError("no model is named: set `model` in the recipe")
    key = os.environ.get(settings.api_key_env, "")
    if not key and urlsplit(settings.base_url).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise EndpointError(f"{settings.base_url} needs a key: set {settings.api_key_env}")
    return key


async def send(
    client: "AsyncOpenAI", body: dict[str, Any], settings: LlmSettings, proven: bool
) -> Reply | Passing | NoSuchFormat | Miss:
    """One request; `proven` is whether the endpoint has answered one before.

    Raises:
        EndpointError: no request can succeed until the user changes something.
    """
    import httpx2
    import openai

    key = os.environ.get(settings.api_key_env, "")
    try:
        # Not `chat.completions.create`: it walks the types of every field, a quarter of the time.
        raw = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
    except openai.APITimeoutError:
        return Passing(f"no reply within {settings.timeout_s:g} s", sent=True)
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        # A connection that was never made has cost nothing; one that broke may have.
        unmade = "Connect" in type(cause).__name__
        return Passing(clean(f"{type(cause).__name__}: {cause}", key), sent=not unmade)
    except openai.APIStatusError as error:
        response = error.response
        return judge_status(
            error.status_code, response.text, response.headers, settings, proven=proven
        )
    return read_completion(_parsed(raw.content), key)


def judge_status(
    status: int, text: str, headers: Mapping[str, str], settings: LlmSettings, *, proven: bool
) -> Passing | NoSuchFormat | Miss:
    """What an error status means for this request and for all others.

    Raises:
        EndpointError: it concerns all of them.
    """
    code, message = _error_of(text)
    line = clean(f"{status}: {message}", os.environ.get(settings.api_key_env, ""))
    if code in _FILTERED:
        return Miss("filtered", line)
    if {code, status} & _EVERYONE or (status in _EVERYONE_AT_FIRST and not proven):
        raise EndpointError(f"{settings.base_url} refuses every request: {line}")
    if status != 429 and not proven and any(word in message.lower() for word in _FORMAT_WORDS):
        return NoSuchFormat(line)
    if status in PASSING or status >= 500:
        return Passing(line, headers, limited=status == 429)
    return Miss("rejected", line)


def clean(text: str, key: str) -> str:
    """A text that may leave this room: without the key, on one line, not too long."""
    if key:
        text = text.replace(key, "[key]")
    text = re.sub(r"\b(sk|key|pk)-[\w*.-]{4,}|Bearer\s+\S+", "[key]", text)
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:300] + "…"


def read_completion(data: Any, key: str) -> Reply | Passing:
    """A chat completion from its JSON; a passing trouble if it is none."""
    try:
        choice = data["choices"][0]
        usage = data.get("usage") or {}
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return Reply(
            choice=_without(choice, key),
            served=str(data.get("model") or ""),
            usage=Usage(
                int(usage.get("prompt_tokens") or 0),
                int(usage.get("completion_tokens") or 0),
                int(cached),
            ),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        shown = clean(f"no chat completion in the reply ({error}): {data}", key)
        return Passing(shown, sent=True)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content[:100].decode("utf-8", "replace")


def _without(choice: Any, key: str) -> dict[str, Any]:
    """The choice as it came, or without the key where an endpoint says it aloud."""
    told = json.dumps(choice) if len(key) >= 8 else ""
    return dict(json.loads(told.replace(key, "[key]")) if key in told and told else choice)


def _error_of(text: str) -> tuple[str, str]:
    """(code, message) of an error's body, in the forms that servers use."""
    try:
        error = json.loads(text)
    except ValueError:
        return "", text
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return "", str(error)
    message = error.get("message") or error.get("detail") or error
    return str(error.get("code") or error.get("type") or ""), str(message)


def _limit_name(base_url: str) -> str:
    # OpenAI's reasoning models refuse the old name; older servers know only that.
    hosted = (urlsplit(base_url).hostname or "").endswith("openai.com")
    return "max_completion_tokens" if hosted else "max_tokens"
