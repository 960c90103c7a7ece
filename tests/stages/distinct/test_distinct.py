"""The distinct stage: one computation stays once, whatever its texts."""

import random
from pathlib import Path

import pytest

from pipeline.source.canonical import problem_id
from pipeline.source.shares import SourceWipedOut
from pipeline.stage import Kept, Outcome, Removed, Row, Workplace
from pipeline.tracing.ask import trace
from stages.distinct import STAGE
from stages.distinct.settings import DistinctSettings

HERE = Workplace(cache=Path("unused"), shared=Path("unused"), data=Path("unused"))

PERCEPTRON = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))
def get_inputs():
    return [torch.rand(4, 6, 32)]
def get_init_inputs():
    return [32, 64]
"""
REWRITTEN = """
import torch
class FeedForward(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = [torch.nn.Linear(sizes[0], sizes[1]), torch.nn.GELU(), torch.nn.Linear(sizes[1], sizes[0])]
        self.layers = torch.nn.ModuleList(layers)
    def forward(self, tokens):
        for layer in self.layers:
            tokens = layer(tokens)
        return tokens.contiguous().view(tokens.shape)
class Model(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.inner = FeedForward(sizes)
    def forward(self, tokens):
        return self.inner(tokens)
def get_inputs():
    return [torch.rand(2, 5, 16)]
def get_init_inputs():
    return [(16, 40)]
"""
WITHOUT_BIAS = PERCEPTRON.replace(
    "nn.Linear(width, hidden)", "nn.Linear(width, hidden, bias=False)"
)
RELU = PERCEPTRON.replace("gelu", "relu")


def row(code: str, **place: object) -> Row:
    """A row as the stage sees it, traced by the product's own tracer."""
    traced = trace(code, kind="real")
    assert isinstance(traced, dict) and "ops" in traced, traced
    ops = [{"op": op, "count": count} for op, count in traced["ops"]]
    return {
        "problem_id": problem_id(code), "code": code, "licence": "MIT", "source_name": "ours",
        "path": "a.py", "line_start": 1, "copies": 1, "ops": ops,
        "graph_sha256": traced["graph_sha256"],
    } | place  # fmt: skip


def judged(rows: list[Row], **settings: object) -> list[Outcome]:
    return STAGE.work(rows, DistinctSettings(**settings), HERE)


def test_one_computation_in_two_texts_and_sizes_stays_once_with_its_twin_as_evidence() -> None:
    rows = [row(REWRITTEN), row(PERCEPTRON)]
    gone, kept = judged(rows)
    assert kept == Kept({})  # the shorter text
    assert isinstance(gone, Removed)
    assert (gone.reason, gone.metric) == ("same_computation", "graph_equal")
    assert gone.matched_id == rows[1]["problem_id"]


def test_another_operation_and_a_missing_bias_are_other_problems() -> None:
    rows = [row(PERCEPTRON), row(RELU), row(WITHOUT_BIAS)]
    assert rows[0]["graph_sha256"] == rows[2]["graph_sha256"]  # the guard of the benchmark is wider
    assert judged(rows) == [Kept({})] * 3


def test_the_freest_licence_is_kept_then_the_most_used() -> None:
    one, other = row(PERCEPTRON, licence="Apache-2.0"), row(REWRITTEN)
    assert [type(o) for o in judged([one, other])] == [Removed, Kept]
    one, other = row(PERCEPTRON), row(REWRITTEN, copies=7)
    assert [type(o) for o in judged([one, other])] == [Removed, Kept]


def test_the_order_of_arrival_changes_nothing() -> None:
    rows = [row(code, path=str(n)) for n, code in enumerate([PERCEPTRON, REWRITTEN, RELU])]
    expected = dict(zip([r["path"] for r in rows], judged(rows), strict=True))
    for seed in range(4):
        shuffled = random.Random(seed).sample(rows, len(rows))
        outcomes = dict(zip([r["path"] for r in shuffled], judged(shuffled), strict=True))
        assert outcomes == expected


@pytest.mark.parametrize("graph", [None, ""])
def test_rows_without_a_graph_are_not_taken_for_each_other(graph: str | None) -> None:
    rows = [row(PERCEPTRON) | {"graph_sha256": graph}, row(RELU) | {"graph_sha256": graph}]
    assert judged(rows) == [Kept({})] * 2


def test_a_recipe_can_keep_every_text() -> None:
    assert judged([row(PERCEPTRON), row(REWRITTEN)], remove=False) == [Kept({})] * 2


def test_no_rows_are_fine() -> None:
    assert judged([]) == []


def test_a_run_that_would_wipe_out_a_source_stops_with_one_line() -> None:
    one = row(PERCEPTRON)
    rows = [one | {"problem_id": f"{n:032d}"} for n in range(20)]
    with pytest.raises(SourceWipedOut, match=r"19 of 20 .*'ours'.*distinct.max_share_of_source"):
        judged(rows, guard_from_rows=10)
