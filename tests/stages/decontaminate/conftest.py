"""A small benchmark of our own, fingerprinted by the product itself, and a place to work in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.source.canonical import problem_id
from pipeline.stage import Outcome, Row, Workplace
from stages.decontaminate import STAGE
from stages.decontaminate.controls import CONTROLS
from stages.decontaminate.embedders import open_embedder
from stages.decontaminate.fingerprint import Problem, Traced, fingerprint_rows, provenance
from stages.decontaminate.fingerprints import fingerprint_path, write_fingerprints
from stages.decontaminate.settings import DecontaminateSettings

MINILM = DecontaminateSettings()

LAYERS = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 24), nn.Tanh(), nn.Linear(24, width))

    def forward(self, x):
        return x + self.layers(x)

def get_inputs():
    return [torch.rand(8, 32)]

def get_init_inputs():
    return [32]
"""


def graph_of(code: str) -> Traced:
    """Stands in for the tracer, which has tests of its own."""
    return Traced(graph_sha256=problem_id(code) * 2, ops=[{"op": "aten.mm.default", "count": 1}])


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with fingerprints of three programs, named `ours`."""
    folder = tmp_path_factory.mktemp("data")
    make_fingerprints(folder, "ours", list(CONTROLS.values()))
    return folder


def make_fingerprints(folder: Path, name: str, codes: list[str]) -> Path:
    """Fingerprints programs as a benchmark of level 1."""
    embedders = [open_embedder(MINILM)]
    problems = [Problem(1, n, f"p{n}", code) for n, code in enumerate(codes, start=1)]
    rows = list(fingerprint_rows(name, problems, embedders, graph_of))
    path = fingerprint_path(folder, name)
    write_fingerprints(rows, provenance(name, "c0ffee", rows, embedders), path)
    return path


@pytest.fixture(scope="session")
def workplace(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(
        cache=tmp_path_factory.mktemp("cache"), shared=tmp_path_factory.mktemp("shared"), data=data
    )


@pytest.fixture(scope="session")
def judge(workplace: Workplace) -> Callable[..., Outcome]:
    """Puts one program through the stage."""

    def judge_one(code: str, graph_sha256: str = "", **settings: object) -> Outcome:
        chosen = DecontaminateSettings(**{"benchmarks": ["ours"], **settings})
        return STAGE.work([as_row(code, graph_sha256)], chosen, workplace)[0][0]

    return judge_one


def as_row(code: str, graph_sha256: str = "") -> Row:
    """A row as the stage sees it."""
    try:
        name = problem_id(code)
    except (SyntaxError, ValueError):
        name = "0" * 32
    return {
        "problem_id": name, "code": code, "class_name": "Layer", "graph_sha256": graph_sha256,
        "ops": [],
    }  # fmt: skip
