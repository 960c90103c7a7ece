"""One question: sent, paid, retried, until it is answered or given up."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.llm.budget import Budget
from pipeline.llm.meter import Meter
from pipeline.llm.outage import Outage
from pipeline.llm.pace import Pace
from pipeline.llm.prices import Price, Usage
from pipeline.llm.question import Answer, Miss, Question
from pipeline.llm.reply import read_choice
from pipeline.llm.retry import wait_before
from pipeline.llm.settings import LlmSettings
from pipeline.llm.store import Store
from pipeline.llm.wire import (
    FORMATS,
    NoSuchFormat,
    Passing,
    Reply,
    expected_usage,
    request_body,
    send,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Stopped(Exception):
    """Somebody pressed Ctrl-C: what has not been sent stays unsent."""


@dataclass
class Endpoint:
    """What a process has learned about an endpoint; outlives a batch of questions."""

    pace: Pace
    outage: Outage = field(default_factory=Outage)
    way: int = 0  # index into FORMATS
    proven: bool = False  # it has answered a question


@dataclass
class Desk:
    """Everything that the questions of one batch share."""

    settings: LlmSettings
    endpoint: Endpoint
    store: Store
    budget: Budget
    price: Price | None
    meter: Meter
    stop: asyncio.Event
    open_client: "Callable[[LlmSettings], AsyncOpenAI]"

    @cached_property
    def client(self) -> "AsyncOpenAI":
        """Opened by the first question that is not remembered: others need no key."""
        return self.open_client(self.settings)

    async def close(self) -> None:
        if "client" in self.__dict__:
            await self.client.close()

    async def sleep(self, seconds: float) -> None:
        """Sleeps, unless somebody wants to stop."""
        try:
            await asyncio.wait_for(self.stop.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped


async def exchange(question: Question, key: str, desk: Desk, tries: int = 1000) -> Answer | Miss:
    """Asks until there is an answer, a miss, or no patience left.

    Raises:
        EndpointError: no question can be answered until the user changes something.
        Stopped: the run is being stopped; an answer under way has still been awaited.
    """
    settings, endpoint = desk.settings, desk.endpoint
    began, waited, attempt, asked_with = time.monotonic(), 0.0, 0, endpoint.way
    while True:
        if desk.stop.is_set():
            raise Stopped
        if endpoint.outage.down:
            return Miss("endpoint_down", "the endpoint has stopped answering")
        asked_with = endpoint.way
        outcome = await _once(question, key, desk, asked_with)
        if isinstance(outcome, Answer | Miss):
            return outcome
        attempt += 1
        if isinstance(outcome, NoSuchFormat) or _format_in_doubt(outcome, endpoint, attempt):
            if endpoint.way == asked_with:  # else another question has moved on already
                if asked_with + 1 == len(FORMATS):
                    return Miss("rejected", outcome.text)
                endpoint.way += 1
            continue
        wait = wait_before(attempt - 1, outcome.headers)
        if attempt >= tries or waited + wait > settings.max_wait_s:
            endpoint.outage.gave_up(began)
            reason = "rate_limited" if outcome.limited else "no_answer"
            return Miss(reason, f"{outcome.text} (after {attempt} tries)")
        if outcome.limited:
            endpoint.pace.pause(wait)
        waited += wait
        await desk.sleep(wait)


async def _once(
    question: Question, key: str, desk: Desk, way: int
) -> Answer | Miss | Passing | NoSuchFormat:
    """One request, within pace and budget; its cost is written down before it is read."""
    expected = expected_usage(question, desk.settings)
    dearest = desk.price.cost(expected) if desk.price else 0.0
    client = desk.client  # opened before a place in the pace is taken: the first time is slow
    await desk.endpoint.pace.wait(expected.total, desk.sleep)
    if not await desk.budget.reserve(dearest):
        return Miss("budget", desk.budget.words)
    usage = Usage(0, 0)
    try:
        body = request_body(question, desk.settings, FORMATS[way])
        outcome = await _timed(client, body, desk)
        usage = _used(outcome, expected)
    except asyncio.CancelledError:
        usage = expected  # sent and not awaited: the endpoint may charge it
        raise
    finally:
        dollars = desk.price.cost(usage) if desk.price else 0.0
        desk.store.spend(desk.settings.model, usage, dollars)
        desk.meter.spent(usage, dollars)
        await desk.budget.settle(dearest, dollars)
    desk.endpoint.pace.correct(expected.total, usage.total)
    if not isinstance(outcome, Reply):
        return outcome
    desk.endpoint.outage.replied()
    desk.endpoint.proven = True
    read = read_choice(outcome.choice, question.shape)
    if isinstance(read, Answer):
        text = read.value.model_dump_json()
        desk.store.remember(key, text, desk.settings.model, outcome.served, usage)
    return read


async def _timed(
    client: "AsyncOpenAI", body: dict[str, Any], desk: Desk
) -> Reply | Passing | NoSuchFormat | Miss:
    # The package's time-out is between two bytes: a reply that drips would never end.
    try:
        async with asyncio.timeout(desk.settings.timeout_s):
            return await send(client, body, desk.settings, desk.endpoint.proven)
    except TimeoutError:
        return Passing(f"no reply within {desk.settings.timeout_s:g} s", sent=True)


def _used(outcome: object, expected: Usage) -> Usage:
    if isinstance(outcome, Reply):
        known = outcome.usage
        return known if known.prompt else expected  # a server that does not count
    if isinstance(outcome, Passing) and outcome.sent:
        return expected
    return Usage(0, 0)


def _format_in_doubt(outcome: Passing, endpoint: Endpoint, attempt: int) -> bool:
    """A server may answer an unknown response format with a bare 500, every time."""
    return (
        outcome.text.startswith("500")
        and not endpoint.proven
        and endpoint.way + 1 < len(FORMATS)
        and attempt % 3 == 0
    )
