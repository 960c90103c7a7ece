"""A key comes from the environment and appears nowhere else."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.llm import EndpointError
from pipeline.stage import Workplace
from tests.pipeline.llm.asking import ask, outcomes, settings_for
from tests.pipeline.llm.scripted import Asked, Said, completion, error, serving, verdict

KEY = "plainly-secret-4f9a7c21e8b3d605"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _everywhere(place: Workplace) -> bytes:
    return b"".join(path.read_bytes() for path in Path(place.cache).rglob("*") if path.is_file())


def test_the_key_is_sent_and_left_nowhere(
    place: Workplace, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    watched = Workplace(place.cache, place.shared, place.data, tell=told.append, note=told.append)
    caplog.set_level(0)
    with serving(lambda asked: verdict()) as server:
        settings = settings_for(server.url)
        ask(2, settings, watched)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY.encode() not in server.requests[0].body
    assert KEY.encode() not in _everywhere(place)
    assert KEY not in caplog.text + "".join(told) + "".join(capfd.readouterr())
    assert KEY not in settings.model_dump_json() + repr(settings)


def test_an_error_that_echoes_the_key_is_cleaned(place: Workplace) -> None:
    echo = error(401, f"Incorrect API key provided: {KEY}. Header was Bearer {KEY}")
    with serving(lambda asked: echo) as server, pytest.raises(EndpointError) as caught:
        ask(1, settings_for(server.url), place)
    assert KEY not in str(caught.value)
    assert "[key]" in str(caught.value)


def test_even_a_key_that_is_not_ours_is_cleaned_from_an_error(place: Workplace) -> None:
    echo = error(401, "Incorrect API key provided: sk-proj-ab12***xyz. Expected Bearer abc.def")
    with serving(lambda asked: echo) as server, pytest.raises(EndpointError) as caught:
        ask(1, settings_for(server.url), place)
    assert "ab12" not in str(caught.value)
    assert "abc.def" not in str(caught.value)


def test_a_reply_that_echoes_the_key_is_cleaned_before_it_is_remembered(place: Workplace) -> None:
    def script(asked: Asked) -> Said:
        return completion(
            f'{{"rationale": "you sent {asked.headers["authorization"]}", "level": "L1"}}'
        )

    with serving(script) as server:
        answers = ask(1, settings_for(server.url), place)
    assert outcomes(answers) == ["L1"]
    assert KEY not in repr(answers)
    assert KEY.encode() not in _everywhere(place)


def test_a_miss_that_echoes_the_key_is_cleaned(place: Workplace) -> None:
    with serving(lambda asked: error(400, f"bad request for {KEY}")) as server:
        answers = ask(1, settings_for(server.url), place)
    assert outcomes(answers) == ["rejected"]
    assert KEY not in repr(answers)


def test_without_a_key_a_hosted_endpoint_is_not_even_tried(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EndpointError, match="set OPENAI_API_KEY"):
        ask(1, settings_for("https://api.openai.com/v1"), place)


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": "http://user:secret@host/v1"},
        {"base_url": "http://host/v1?key=secret"},
        {"base_url": "host:8000"},
        {"api_key_env": "sk-test-4f9a7c21e8b3d605"},
    ],
)
def test_a_recipe_can_hold_no_key(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        settings_for("http://127.0.0.1:1/v1", **fields)
