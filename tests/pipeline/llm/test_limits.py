"""Requests and tokens a minute are kept; the budget is never passed."""

import asyncio
import time

import pytest

from pipeline.errors import RecipeError
from pipeline.llm.pace import Pace
from pipeline.llm.prices import Price, Usage
from pipeline.llm.retry import retry_after
from pipeline.llm.store import open_store, spent_between
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, asking, outcomes, settings_for
from tests.pipeline.llm.scripted import Asked, Said, completion, error, serving, verdict


def test_requests_a_minute_are_kept_without_bursts(place: Workplace) -> None:
    times: list[float] = []

    def script(asked: Asked) -> Said:
        times.append(time.monotonic())
        return verdict()

    with serving(script) as server:
        ask(20, settings_for(server.url, rpm=1200, concurrency=20), place)
    assert times[-1] - times[0] >= 17 * 60 / 1200
    assert max(sum(1 for t in times if s <= t < s + 0.25) for s in times) <= 8


def test_tokens_a_minute_are_kept() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def run() -> None:
        pace = Pace(rpm=0, tpm=60_000)
        for _ in range(3):
            await pace.wait(1000, sleep)
        pace.correct(1000, 100)
        await pace.wait(1000, sleep)

    asyncio.run(run())
    assert slept == pytest.approx([1.0, 2.0, 2.1], abs=0.05)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_a_budget_of_requests_stops_cleanly_and_a_larger_one_goes_on(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        first = ask(20, settings_for(server.url, budget_requests=7, concurrency=4), place)
        assert sorted(outcomes(first)) == ["L2"] * 7 + ["budget"] * 13
        assert server.count == 7
        again = ask(20, settings_for(server.url, budget_requests=20), place)
        assert outcomes(again) == ["L2"] * 20
        assert server.count == 20


def test_a_budget_of_dollars_is_never_passed(place: Workplace) -> None:
    # Reserved are about 30 tokens of prompt and 100 of reply, used are 20 and 50: $0.00052.
    with serving(lambda asked: verdict(wait_s=0.01, usage=(20, 50))) as server:
        settings = settings_for(
            server.url, model="priced", budget_dollars=0.0052, max_tokens=100, concurrency=16
        )
        answers = ask(40, settings, place)
    assert spent_between(place.cache).dollars <= 0.0052
    assert outcomes(answers).count("L2") == server.count == 9
    assert outcomes(answers).count("budget") == 31


def test_a_model_dearer_than_expected_is_noticed(place: Workplace) -> None:
    # A reply that thinks aloud beyond max_tokens: forty times what was reserved.
    with serving(lambda asked: verdict(usage=(20, 4000))) as server:
        settings = settings_for(
            server.url, model="priced", budget_dollars=0.2, max_tokens=100, concurrency=2
        )
        ask(40, settings, place)
    assert spent_between(place.cache).dollars <= 0.2
    assert server.count == 4


def test_failed_requests_cost_too(place: Workplace) -> None:
    truncated = completion('{"rat', finish="length", usage=(1000, 100))
    with serving(lambda asked: truncated) as server:
        assert outcomes(ask(1, settings_for(server.url, model="priced"), place)) == ["truncated"]
    assert spent_between(place.cache).dollars == pytest.approx(0.002)


@pytest.mark.usefixtures("short_waits")
def test_what_was_never_worked_on_costs_nothing(place: Workplace) -> None:
    def script(asked: Asked) -> Said:
        return error(429, "slow", retry_after="0.01") if asked.number < 3 else verdict()

    with serving(script) as server:
        ask(1, settings_for(server.url, model="priced"), place)
    spent = spent_between(place.cache)
    assert spent.requests == 4
    assert spent.dollars == pytest.approx(0.0015)


def test_what_was_spent_more_than_a_day_ago_is_forgiven(place: Workplace) -> None:
    with open_store(place.cache) as store:
        store.spend("m", Usage(0, 0), 0.0, requests=10)
        store._connection.execute("UPDATE spending SET at = at - 90000")
    with serving(lambda asked: verdict()) as server:
        assert outcomes(ask(2, settings_for(server.url, budget_requests=2), place)) == ["L2"] * 2


def test_a_dollar_budget_for_a_model_without_a_price_is_refused(place: Workplace) -> None:
    with (
        serving(lambda asked: verdict()) as server,
        pytest.raises(RecipeError, match="no price for model 'm'"),
    ):
        ask(1, settings_for(server.url, budget_dollars=1), place)


def test_cached_prompt_tokens_and_batches_are_cheaper() -> None:
    price = Price(input=1.0, output=10.0, cached_input=0.1, batch=0.5)
    assert price.cost(Usage(1_000_000, 100_000)) == pytest.approx(2.0)
    assert price.cost(Usage(1_000_000, 100_000, cached=1_000_000)) == pytest.approx(1.1)
    assert price.cost(Usage(1_000_000, 100_000), batch=True) == pytest.approx(1.0)


def test_the_person_watching_hears_of_answers_tokens_and_cost(place: Workplace) -> None:
    told: list[str] = []
    watched = Workplace(place.cache, place.shared, place.data, note=told.append)
    with serving(lambda asked: verdict()) as server:
        ask([asking("a"), asking("b")], settings_for(server.url, model="priced"), watched)
        assert told[-1] == "2 answers (0 remembered) · 2 requests · 2,100 tokens · $0.0030"
        ask([asking("c")], settings_for(server.url, model="priced"), watched)
    assert told[-1] == "3 answers (0 remembered) · 3 requests · 3,150 tokens · $0.0045"
