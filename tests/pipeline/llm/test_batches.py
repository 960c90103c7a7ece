"""The Batch API: half the price, collected by a later run, never submitted twice."""

import json

import pytest

from pipeline.llm import EndpointError, batches
from pipeline.llm.store import spent_between
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, outcomes, settings_for
from tests.pipeline.llm.batch_desk import BatchDesk
from tests.pipeline.llm.scripted import completion, error, serving, verdict


def test_one_run_submits_and_a_later_one_collects_at_half_price(place: Workplace) -> None:
    desk = BatchDesk()
    with serving(desk) as server:
        settings = settings_for(server.url, model="priced", batch_api=True)
        assert outcomes(ask(5, settings, place)) == ["pending"] * 5
        assert outcomes(ask(5, settings, place)) == ["pending"] * 5
        assert len(desk.batches) == 1, "a submitted batch is resumed, not submitted again"
        desk.finish()
        assert outcomes(ask(5, settings, place)) == ["L2"] * 5
        sent = server.count
        assert outcomes(ask(5, settings, place)) == ["L2"] * 5
        assert server.count == sent
    assert spent_between(place.cache).dollars == pytest.approx(5 * 0.0015 / 2)


def test_answers_of_a_batch_serve_the_direct_way_too(place: Workplace) -> None:
    desk = BatchDesk()
    with serving(desk) as server:
        ask(3, settings_for(server.url, batch_api=True), place)
        desk.finish()
        ask(3, settings_for(server.url, batch_api=True), place)
        server.script = lambda asked: error(500, "nobody should ask")
        assert outcomes(ask(3, settings_for(server.url), place)) == ["L2"] * 3


def test_the_body_in_the_batch_is_that_of_the_direct_way(place: Workplace) -> None:
    desk = BatchDesk()
    with serving(lambda asked: verdict()) as server:
        ask(1, settings_for(server.url), place)
        direct = server.requests[0].json
        server.script = desk
        ask(2, settings_for(server.url, batch_api=True), place)
    line = json.loads(desk.files["file0"])
    assert line["url"] == "/v1/chat/completions"
    assert line["body"]["response_format"] == direct["response_format"]
    assert line["body"]["messages"][0] == direct["messages"][0]


def test_an_expired_batch_gives_what_it_has_and_the_rest_is_submitted_again(
    place: Workplace,
) -> None:
    desk = BatchDesk()
    with serving(desk) as server:
        settings = settings_for(server.url, batch_api=True)
        ask(5, settings, place)
        desk.finish("expired", take=2)
        assert sorted(outcomes(ask(5, settings, place))) == ["L2"] * 2 + ["pending"] * 3
        assert desk.lines == 5 + 3
        desk.finish()
        assert outcomes(ask(5, settings, place)) == ["L2"] * 5


def test_a_batch_whose_name_was_never_heard_is_found_again(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was killed after the endpoint took the batch and before it could say so."""
    monkeypatch.setattr(batches, "TRIES", 0)
    desk = BatchDesk()
    desk.forget_reply_of_create = True
    with serving(desk) as server:
        settings = settings_for(server.url, batch_api=True)
        assert outcomes(ask(4, settings, place)) == ["no_answer"] * 4
        desk.forget_reply_of_create = False
        desk.finish()
        assert outcomes(ask(4, settings, place)) == ["L2"] * 4
    assert len(desk.batches) == 1


def test_bad_lines_are_misses_and_the_good_ones_count(place: Workplace) -> None:
    def answer(body: object) -> object:
        text = json.dumps(body)
        if "problem 0" in text:
            return error(400, "too long")
        if "problem 1" in text:
            return completion('{"rat', finish="length")
        return verdict()

    desk = BatchDesk(answer)  # type: ignore[arg-type]
    with serving(desk) as server:
        settings = settings_for(server.url, batch_api=True)
        ask(3, settings, place)
        desk.finish()
        assert outcomes(ask(3, settings, place)) == ["rejected", "truncated", "L2"]


def test_a_refused_batch_says_why(place: Workplace) -> None:
    desk = BatchDesk()
    with serving(desk) as server:
        settings = settings_for(server.url, batch_api=True)
        ask(3, settings, place)
        desk.refuse("model m has no Batch API")
        with pytest.raises(EndpointError, match="model m has no Batch API"):
            ask(3, settings, place)


def test_a_batch_beyond_the_budget_is_not_submitted(place: Workplace) -> None:
    desk = BatchDesk()
    with serving(desk) as server:
        settings = settings_for(server.url, batch_api=True, budget_requests=4)
        assert outcomes(ask(5, settings, place)) == ["budget"] * 5
        assert outcomes(ask(4, settings, place)) == ["pending"] * 4
        assert outcomes(ask(5, settings, place))[4] == "budget", "what is under way counts"


def test_waiting_for_a_batch_ends_when_it_does(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "POLL_S", 0.05)
    desk = BatchDesk()

    def script(asked: object) -> object:
        said = desk(asked)  # type: ignore[arg-type]
        desk.finish()
        return said

    with serving(script) as server:  # type: ignore[arg-type]
        settings = settings_for(server.url, batch_api=True, batch_wait_s=5)
        assert outcomes(ask(2, settings, place)) == ["L2"] * 2
