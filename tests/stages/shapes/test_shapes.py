"""Shapes as a reader of the release sees them: realistic, distinct, executed."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from pipeline.source.program import apply_sizes, sizes_of
from pipeline.stage import Kept, Outcome, Removed, Workplace
from pipeline.tracing.ask import trace
from stages.shapes import STAGE
from stages.shapes.table import read_table
from tests.stages.validate.programs import program

DATA = Path(__file__).parents[3] / "data"
WORKPLACE = Workplace(cache=Path(tempfile.mkdtemp()), shared=DATA, data=DATA)
TABLE = read_table(DATA / "shapes" / "sizes.toml")

ATTENTION = """
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
SEQ_LEN = 16
DIM = 64
HEADS = 4
HIDDEN = 256


class Model(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        return self.down(F.gelu(self.up(y)))


def get_inputs():
    return [torch.randn(BATCH, SEQ_LEN, DIM)]


def get_init_inputs():
    return [DIM, HEADS, HIDDEN]
"""

CONTRASTIVE = """
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQ_LEN = 80
DIM = 96


class Model(nn.Module):
    def forward(self, one, other):
        scores = torch.einsum("btd,ctd->bct", one, other) / one.shape[-1]
        return F.log_softmax(scores, dim=1).diagonal().mean()


def get_inputs():
    return [torch.randn(BATCH, SEQ_LEN, DIM), torch.randn(BATCH, SEQ_LEN, DIM)]


def get_init_inputs():
    return []
"""

DISTANCES = """
import torch
import torch.nn as nn

BATCH = 4
SEQ_LEN = 48
DIM = 96


class Model(nn.Module):
    def __init__(self, dim, longest=64):
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, dim))

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return torch.tanh(x * self.table[places])


def get_inputs():
    return [torch.randn(BATCH, SEQ_LEN, DIM)]


def get_init_inputs():
    return [DIM]
"""

PATCHES = """
import torch
import torch.nn as nn

BATCH = 2
HEIGHT = 32
WIDTH = 32
CHANNELS = 3
PATCH = 8
DIM = 96


class Model(nn.Module):
    def __init__(self, channels, patch, dim):
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(channels * patch * patch, dim)

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.patch
        x = x.view(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        return self.project(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, PATCH, DIM]
"""


def shaped(code: str, **settings: Any) -> Outcome:
    facts = trace(code)
    assert isinstance(facts, dict)
    row = facts | {
        "problem_id": "p",
        "code": code,
        "sizes": [{"name": n, "value": v} for n, v in sizes_of(code).items()],
        "ops": [{"op": op, "count": count} for op, count in facts["ops"]],
        "atol": 1e-4,
        "rtol": 1e-4,
    }
    [[outcome]] = STAGE.work([row], STAGE.settings(**settings), WORKPLACE)
    return outcome


def shapes(code: str, **settings: Any) -> dict[str, dict[str, Any]]:
    outcome = shaped(code, **settings)
    assert isinstance(outcome, Kept), outcome
    return {shape["name"]: shape for shape in outcome.columns["shapes"]}


def sizes(shape: dict[str, Any]) -> dict[str, int]:
    return {size["name"]: size["value"] for size in shape["sizes"]}


@pytest.mark.parametrize("target", ["cpu", "h200"])
@pytest.mark.parametrize("code", [ATTENTION, PATCHES], ids=["attention", "patches"])
def test_a_problem_gets_all_settings_and_each_runs_as_it_says(code: str, target: str) -> None:
    found = shapes(code, target=target)
    assert list(found) == ["train", "infer", "large", "odd", "held_out"]
    assert [name for name, shape in found.items() if shape["held_out"]] == ["held_out"]
    device = TABLE.targets[target]
    for shape in found.values():
        facts = trace(apply_sizes(code, sizes(shape)))
        assert isinstance(facts, dict)
        assert (facts["flops"], facts["working_set"]) == (shape["flops"], shape["working_set"])
        assert shape["working_set"] <= device.most_working_set
        ms = device.milliseconds(facts["flops"], facts["flops_matrix"], facts["bytes_unfused"])
        assert device.least_ms <= ms <= device.most_ms
        assert shape["suggested_by"] == "rules-v1"
    assert len({shape["shape_id"] for shape in found.values()}) == len(found)


def test_a_shape_at_which_any_answer_passes_is_no_shape() -> None:
    """Among a batch of one every match is right; seen at the `infer` of a real row."""
    found = shapes(CONTRASTIVE, target="h200")
    assert all(sizes(shape)["BATCH"] > 1 for shape in found.values())


def test_a_length_beyond_a_table_is_no_shape() -> None:
    """Fakes don't see it and a short twin neither; on an H200 it was a device-side assert."""
    found = shapes(DISTANCES, target="h200")
    assert max(sizes(shape)["SEQ_LEN"] for shape in found.values()) <= 64


def test_widths_keep_their_proportions() -> None:
    for shape in shapes(ATTENTION, target="h200").values():
        at = sizes(shape)
        assert at["HIDDEN"] == 4 * at["DIM"]
        assert at["DIM"] % at["HEADS"] == 0


def test_a_large_gpu_gets_a_working_set_beyond_its_cache() -> None:
    found = shapes(ATTENTION, target="h200")
    for name in ("train", "large", "held_out"):
        assert found[name]["working_set"] > TABLE.targets["h200"].cache_bytes


def test_the_odd_setting_has_tails_and_patches_still_fit() -> None:
    at = sizes(shapes(ATTENTION)["odd"])
    assert at["BATCH"] % 2 == 1 and at["SEQ_LEN"] % 2 == 1
    at = sizes(shapes(PATCHES)["odd"])
    assert at["BATCH"] % 2 == 1 and at["HEIGHT"] % 8 == 0


def test_colours_and_patches_are_left_alone() -> None:
    for shape in shapes(PATCHES).values():
        assert (sizes(shape)["CHANNELS"], sizes(shape)["PATCH"]) == (3, 8)


def test_the_same_problem_gets_the_same_shapes() -> None:
    assert shaped(ATTENTION) == shaped(ATTENTION)


def test_a_program_whose_sizes_are_tied_keeps_its_own() -> None:
    code = program("return x.view(8, 32).tanh()")
    assert list(shapes(code)) == ["as_written"]


def test_a_problem_without_a_shape_that_fits_is_removed_with_the_reasons() -> None:
    outcome = shaped(ATTENTION, max_working_set=1000)
    assert isinstance(outcome, Removed)
    assert outcome.reason == "no_verified_shape"
    assert "too_large" in outcome.detail and (outcome.value, outcome.threshold) == (0.0, 1.0)


def test_a_setting_that_gives_infinity_is_not_believed() -> None:
    code = program("return x / (x - x) if len(x) > 8 else x.exp()")
    assert all(sizes(shape)["B"] <= 8 for shape in shapes(code).values())


def test_every_size_in_the_table_has_its_source() -> None:
    import tomllib

    raw = tomllib.loads((DATA / "shapes" / "sizes.toml").read_text())
    for kind in ("widths", "sequences", "spatials", "vocabularies"):
        assert all(entry["source"] for entry in raw[kind])
