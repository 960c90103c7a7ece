"""Bad weather: what an endpoint may do to a request, and what becomes of the question."""

import json
import time
from dataclasses import dataclass

import pytest

from pipeline.llm import EndpointError
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, outcomes, settings_for
from tests.pipeline.llm.scripted import Asked, Said, Script, completion, error, serving, verdict

pytestmark = pytest.mark.usefixtures("short_waits")


@dataclass(frozen=True)
class Weather:
    """What the server does first, how the question ends, and after how many requests."""

    first: Said
    ends: str = "L2"
    requests: int = 2


def once(first: Said) -> Script:
    """That at first, sunshine afterwards."""
    return lambda asked: first if asked.number == 0 else verdict()


CASES = {
    "429 with Retry-After": Weather(error(429, "slow down", retry_after="0.05")),
    "429 with Retry-After in ms": Weather(error(429, "slow down", retry_after_ms="50")),
    "429 without Retry-After": Weather(error(429, "slow down")),
    "500": Weather(error(500, "oops")),
    "502 in HTML": Weather(Said(502, b"<html>bad gateway</html>", {"content-type": "text/html"})),
    "503": Weather(error(503, "overloaded")),
    "408": Weather(error(408, "took too long")),
    "connection reset": Weather(Said(reset=True)),
    "half a reply": Weather(verdict(cut_at=40)),
    "not JSON": Weather(Said(200, b"<html>welcome to the proxy</html>")),
    "JSON but no completion": Weather(Said(200, b'{"object": "list"}')),
    "no choices": Weather(Said(200, b'{"choices": []}')),
    "hang": Weather(verdict(wait_s=3)),
    "slow drip": Weather(verdict(drip_s=0.05)),
    "fenced JSON": Weather(
        completion('```json\n{"rationale": "r", "level": "L2"}\n```'), requests=1
    ),
    "invalid JSON": Weather(completion('{"level": L2}'), "invalid_reply", 1),
    "wrong schema": Weather(completion('{"label": "L2"}'), "invalid_reply", 1),
    "unknown level": Weather(
        completion('{"rationale": "r", "level": "L7"}'), "invalid_reply", 1
    ),
    "truncated": Weather(completion('{"rationale": "r", "le', finish="length"), "truncated", 1),
    "truncated but valid": Weather(verdict("L0", finish="length"), "truncated", 1),
    "refused": Weather(completion(None, refusal="I can't help with that"), "refused", 1),
    "filtered": Weather(completion("", finish="content_filter"), "filtered", 1),
    "filtered with 400": Weather(error(400, "policy", "content_filter"), "filtered", 1),
    "too long": Weather(error(400, "maximum context", "context_length_exceeded"), "rejected", 1),
    "empty content": Weather(completion(""), "invalid_reply", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_kind_of_bad_weather_ends_in_an_answer_or_a_named_miss(
    case: str, place: Workplace
) -> None:
    weather = CASES[case]
    with serving(once(weather.first)) as server:
        settings = settings_for(server.url, timeout_s=0.5)
        began = time.monotonic()
        answers = ask(1, settings, place)
        assert outcomes(answers) == [weather.ends]
        assert server.count == weather.requests
        assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "refusal",
    [
        error(401, "Incorrect API key provided", "invalid_api_key"),
        error(403, "country not supported"),
        error(404, "The model `m` does not exist", "model_not_found"),
        error(400, "'temperature' is not supported", "unsupported_value"),
        error(429, "You exceeded your current quota", "insufficient_quota"),
    ],
    ids=["wrong key", "forbidden", "wrong model name", "unsupported parameter", "no credit left"],
)
def test_what_concerns_every_request_stops_the_run_with_one_clear_line(
    refusal: Said, place: Workplace
) -> None:
    with serving(lambda asked: refusal) as server:
        with pytest.raises(EndpointError, match="refuses every request") as caught:
            ask(100, settings_for(server.url, concurrency=4), place)
        assert "\n" not in str(caught.value)
        assert server.count <= 8, "the rest was not sent"


def test_answers_that_came_before_the_refusal_are_kept(place: Workplace) -> None:
    revoked = error(401, "key was revoked")
    with serving(lambda asked: verdict() if asked.number < 5 else revoked) as server:
        settings = settings_for(server.url, concurrency=1)
        with pytest.raises(EndpointError):
            ask(20, settings, place)
        server.script = lambda asked: verdict()
        assert outcomes(ask(20, settings, place)) == ["L2"] * 20
        assert server.count == 6 + 15


def test_a_wait_longer_than_allowed_is_not_waited_for(place: Workplace) -> None:
    with serving(lambda asked: error(429, "slow down", retry_after="3600")) as server:
        began = time.monotonic()
        answers = ask(3, settings_for(server.url, max_wait_s=1), place)
        assert time.monotonic() - began < 2
    assert set(outcomes(answers)) <= {"rate_limited", "endpoint_down"}


def test_a_dead_endpoint_costs_its_waiting_time_once_and_not_for_every_row(
    place: Workplace,
) -> None:
    with serving(lambda asked: verdict()) as server:
        url = server.url
    began = time.monotonic()
    settings = settings_for(url, max_wait_s=0.5, concurrency=8)
    answers = ask(500, settings, place)
    again = ask(500, settings, place)
    assert time.monotonic() - began < 4
    assert set(outcomes(answers)) == {"no_answer", "endpoint_down"}
    assert set(outcomes(again)) == {"no_answer", "endpoint_down"}


def test_a_question_that_breaks_the_server_does_not_take_the_others_along(
    place: Workplace,
) -> None:
    def script(asked: Asked) -> Said:
        return error(500, "boom") if asked.user == "problem 3" else verdict()

    with serving(script) as server:
        settings = settings_for(server.url, max_wait_s=0.1, concurrency=1)
        assert outcomes(ask(10, settings, place)) == ["L2"] * 3 + ["no_answer"] + ["L2"] * 6


def test_a_proxy_that_dislikes_one_prompt_does_not_stop_the_run(place: Workplace) -> None:
    def script(asked: Asked) -> Said:
        return error(403, "blocked by policy") if asked.user == "problem 3" else verdict()

    with serving(script) as server:
        answers = ask(10, settings_for(server.url, concurrency=1), place)
        assert outcomes(answers) == ["L2"] * 3 + ["rejected"] + ["L2"] * 6


def test_an_endpoint_that_comes_back_is_used_again(place: Workplace) -> None:
    with serving(lambda asked: error(503, "restarting")) as server:
        settings = settings_for(server.url, max_wait_s=0.2, concurrency=4)
        assert "L2" not in outcomes(ask(40, settings, place))
        server.script = lambda asked: verdict()
        assert outcomes(ask(40, settings, place)) == ["L2"] * 40


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "response_format.type must be 'text' or 'json_object'"),
        error(500, "[{'loc': ('body', 'response_format', 'type'), 'msg': 'Input should be'}]"),
        error(422, "Unknown field: json_schema"),
        error(500, "Internal Server Error"),
    ],
    ids=["400", "500 with a word", "422", "bare 500"],
)
def test_a_server_without_json_schema_is_asked_for_a_json_object(
    refusal: Said, place: Workplace
) -> None:
    def script(asked: Asked) -> Said:
        return verdict() if asked.json["response_format"]["type"] == "json_object" else refusal

    with serving(script) as server:
        assert outcomes(ask(20, settings_for(server.url, concurrency=2), place)) == ["L2"] * 20
        assert server.count <= 20 + 8, "it learned once, not for every question"


def test_the_first_request_asks_for_the_schema_by_name(place: Workplace) -> None:
    with serving(lambda asked: verdict()) as server:
        ask(1, settings_for(server.url, temperature=0.5), place)
        sent = server.requests[0].json
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert sent["temperature"] == 0.5
    assert sent["model"] == "m"
    assert json.dumps(sent["messages"])


def test_concurrency_is_what_the_recipe_says_and_no_more(place: Workplace) -> None:
    with serving(lambda asked: verdict(wait_s=0.05)) as server:
        assert outcomes(ask(60, settings_for(server.url, concurrency=6), place)) == ["L2"] * 60
        assert server.most_at_once == 6


def test_a_request_to_slow_down_quiets_everybody(place: Workplace) -> None:
    times: list[float] = []

    def script(asked: Asked) -> Said:
        times.append(time.monotonic())
        return error(429, "wait", retry_after="0.6") if asked.number == 8 else verdict(wait_s=0.02)

    with serving(script) as server:
        assert outcomes(ask(40, settings_for(server.url, concurrency=4), place)) == ["L2"] * 40
    quiet = [t for t in times if times[8] + 0.1 < t < times[8] + 0.55]
    assert not quiet


def test_hundreds_of_questions_over_a_limit_all_end(place: Workplace) -> None:
    """openai-python#1195, langchain#20656: a mass of requests, timeouts and lost results."""
    allowed = {"left": 0.0, "at": time.monotonic()}

    def script(asked: Asked) -> Said:
        now = time.monotonic()
        allowed["left"] = min(20.0, allowed["left"] + (now - allowed["at"]) * 400)
        allowed["at"] = now
        if allowed["left"] < 1:
            return error(429, "limit", retry_after="0.1")
        allowed["left"] -= 1
        return verdict()

    with serving(script) as server:
        settings = settings_for(server.url, concurrency=32, max_wait_s=30)
        assert outcomes(ask(600, settings, place)) == ["L2"] * 600
