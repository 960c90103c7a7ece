"""What becomes of a file's classes."""

import math
import re
from pathlib import Path

import pytest

from pipeline.source.program import sizes_of
from pipeline.stage import Kept
from tests.stages.extract.helpers import extract, one_kept, reasons

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def test_a_class_becomes_a_program_in_kernelbench_format(tmp_path: Path) -> None:
    text = (
        HEAD
        + '''
SCALE = 0.5
UNUSED = 7

def scaled(x):
    return x * SCALE

class Gate(nn.Module):
    """Opens or closes."""

    def __init__(self, dim, hidden_dim, *, bias=False):
        super(Gate, self).__init__()
        self.up = nn.Linear(dim, hidden_dim, bias=bias)

    def unused(self):
        return numpy.zeros(3)

    def forward(self, x):
        return scaled(F.silu(self.up(x)))

if __name__ == "__main__":
    print(Gate)
'''
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert row["class_name"] == "Gate"
    assert "class Model(nn.Module):" in code and "super(Model, self)" in code
    assert "SCALE = 0.5" in code and "UNUSED" not in code and "__main__" not in code
    assert "def unused" not in code, "methods that forward does not reach are left out"
    assert "Gate" not in code, "all references are renamed"
    assert sizes_of(code)["DIM"] == 64
    assert "torch.randn(BATCH, SEQ_LEN, DIM)" in code
    assert "return [DIM, HIDDEN_DIM]" in code
    edits = " ".join(row["edits"])  # type: ignore[arg-type]
    assert (
        "renamed the class Gate to Model" in edits and "keyword-only" in edits and "unused" in edits
    )


def test_every_module_class_has_an_outcome(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from somewhere import special

class Base(nn.Module):
    pass

class Abstract(nn.Module):
    def forward(self, x):
        raise NotImplementedError

class Good(Base):
    def forward(self, x):
        return x.relu()

class Foreign(nn.Module):
    def forward(self, x):
        return special(x)

class Missing(nn.Module):
    def forward(self, x):
        return nowhere(x)

class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)

class Constant(nn.Module):
    def forward(self, x):
        return torch.zeros(3)

class Plain:
    def forward(self, x):
        return x
"""
    )
    assert reasons(extract(text, tmp_path)) == {
        "Base": "abstract",
        "Abstract": "abstract",
        "Good": "kept",
        "Foreign": "outside_dependency",
        "Missing": "unresolved_name",
        "Noisy": "nondeterministic",
        "Constant": "constant_output",
    }


@pytest.mark.parametrize("text", ["", "x = 1\n", "class A:\n    pass\n", "import torch\n"])
def test_a_file_without_module_classes_is_removed_with_that_reason(
    text: str, tmp_path: Path
) -> None:
    (outcome,) = extract(text, tmp_path)
    assert outcome.reason == "no_module"  # type: ignore[union-attr]


def test_a_file_that_is_not_python_costs_one_row(tmp_path: Path) -> None:
    (outcome,) = extract("print 'python 2'", tmp_path)
    assert outcome.reason == "syntax_error"  # type: ignore[union-attr]


def test_two_classes_of_one_name_are_two_rows(tmp_path: Path) -> None:
    text = HEAD + (
        "class A(nn.Module):\n    def forward(self, x):\n        return x + 1\n\n"
        "class A(nn.Module):\n    def forward(self, x):\n        return x * 3\n"
    )
    first, second = extract(text, tmp_path)
    assert isinstance(first, Kept) and isinstance(second, Kept)
    assert "x + 1" in first.columns["code"] and "x * 3" in second.columns["code"]


def test_arguments_come_from_call_sites_with_their_count(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Basic(nn.Module):
    expansion = 2

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width * self.expansion, 3, padding=1)

    def forward(self, x):
        return self.conv(x)

class Net(nn.Module):
    def __init__(self, block, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(block(width) for _ in range(depth))
        self.last = nn.Conv2d(width * block.expansion, 5, 1)

    def forward(self, x):
        return sum(self.last(block(x)) for block in self.blocks)

def small():
    return Net(Basic, 24, 3)

def smaller(width):
    return Net(Basic, width, depth=3)
"""
    )
    _, net = extract(text, tmp_path)
    assert isinstance(net, Kept), net
    assert "class Basic" in net.columns["code"]
    assert net.columns["arguments"] == [
        {"name": "block", "value": "Basic", "evidence": "call site (2)"},
        {"name": "width", "value": "WIDTH", "evidence": "call site (1)"},
        {"name": "depth", "value": "3", "evidence": "call site (2)"},
    ]


def test_dropout_is_set_to_zero_where_the_output_would_not_repeat(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Dropped(nn.Module):
    def __init__(self, drop_rate=0.3):
        super().__init__()
        self.drop = nn.Sequential(nn.Dropout(0.1), nn.Dropout(p=drop_rate))

    def forward(self, x):
        return F.dropout(self.drop(x), 0.5)
"""
    )
    row = one_kept(extract(text, tmp_path))
    assert "nn.Dropout(0.0)" in str(row["code"]) and "0.5)" not in str(row["code"])
    assert any("dropout" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_einops_is_written_as_tensor_methods(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from einops import rearrange
from einops.layers.torch import Rearrange

class Heads(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.first = Rearrange("b n d -> b d n")
        self.qkv = nn.Linear(dim, dim)

    def forward(self, x):
        x = rearrange(self.qkv(x), "b n (h d) -> b h n d", h=self.heads)
        return self.first(rearrange(x, "b h n d -> b n (h d)"))
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "einops" not in code
    assert "self.qkv(x).unflatten(2, (self.heads, -1)).permute(0, 2, 1, 3)" in code
    assert "x.permute(0, 2, 1, 3).flatten(2, 3)" in code


def test_definitions_stand_before_what_needs_them_at_once(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner(24)

    def forward(self, x):
        return self.inner(x)

class Base(nn.Module):
    def helper(self):
        return Outer

class Inner(Base):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * self.weight
"""
    )
    assert set(reasons(extract(text, tmp_path)).values()) == {"abstract", "kept"}


def test_logging_and_registries_are_dropped_and_listed(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import logging
from registry import MODELS
logger = logging.getLogger(__name__)

@MODELS.register_module()
class Quiet(nn.Module):
    def forward(self, x):
        if x.dim() > 9:
            logger.warning("many")
        logger.info("here")
        return x * 2
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "logger" not in code and "MODELS" not in code and "if x.dim()" not in code
    assert any("register_module" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_annotations_need_no_imports(tmp_path: Path) -> None:
    text = HEAD + (
        "from jaxtyping import Float\n\n"
        "class A(nn.Module):\n    def forward(self, x: Float) -> Float:\n        return x.tanh()\n"
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert code.startswith("from __future__ import annotations") and "jaxtyping" not in code


def test_a_config_object_holds_what_is_read_and_no_more(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class TinyConfig:
    def __init__(self, hidden_size=256, num_attention_heads=4, unused=3):
        self.hidden_size = hidden_size

class Block(nn.Module):
    def __init__(self, config: TinyConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        b, n, d = hidden_states.shape
        return self.proj(hidden_states).view(b, n, self.heads, d // self.heads)
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "class Config:" in code and "num_attention_heads = 4" in code and "unused" not in code
    assert "hidden_size = HIDDEN_SIZE" in code and "HIDDEN_SIZE = 256" in code
    assert {
        "name": "config.num_attention_heads",
        "value": "4",
        "evidence": "config default",
    } in row["arguments"]  # type: ignore[operator]


CASES = {
    "tokens": ("self.e = nn.Embedding(vocab_size, dim)", "ids", "self.e(ids)", "vocab_size, dim"),
    "picture": ("self.c = nn.Conv2d(in_channels, 8, 3)", "x", "self.c(x)", "in_channels"),
    "skip": (
        "self.c = nn.Conv2d(in_ch, out_ch, 3, padding=1)",
        "x",
        "self.c(x) + x",
        "in_ch, out_ch",
    ),
    "recurrent": (
        "self.r = nn.GRU(input_size, hidden_size)",
        "x",
        "self.r(x)[0]",
        "input_size, hidden_size",
    ),
    "two": ("self.a = nn.Linear(dim, 5)", "x, y", "self.a(x) + self.a(y)", "dim"),
    "pair": ("self.a = nn.Bilinear(dim1, dim2, 7)", "x, y", "self.a(x, y)", "dim1, dim2"),
    "loss": ("pass", "pred, target", "F.cross_entropy(pred, target)", ""),
    "flat": (
        "self.a = nn.Linear(8 * 14 * 14, 10); self.c = nn.Conv2d(1, 8, 2, 2)",
        "x",
        "self.a(self.c(x).flatten(1))",
        "",
    ),
    "heads": (
        "self.a = nn.MultiheadAttention(dim, num_heads)",
        "q, k, v",
        "self.a(q, k, v)[0]",
        "dim, num_heads",
    ),
    "list": ("pass", "xs", "torch.cat([x.sigmoid() for x in xs], 1)", ""),
    "assertion": ("self.n = num_features", "x", "check(x, self.n).mean(0)", "num_features"),
    "activation": ("self.a = act_layer()", "x", "self.a(x)", "act_layer"),
    "norm": ("self.a = norm_layer(channels)", "x", "self.a(x)", "norm_layer, channels"),
    "mask": ("pass", "x, mask", "x.masked_fill(mask, 0.0)", ""),
}


def test_arguments_and_inputs_are_inferred_for_many_kinds_of_classes(tmp_path: Path) -> None:
    text = (
        HEAD
        + "def check(x, n):\n    assert x.shape[1] == n\n    return x\n"
        + "".join(
            f"\n\nclass {name.title()}(nn.Module):\n    def __init__(self{', ' + params if params else ''}):\n"
            f"        super().__init__()\n        {init}\n\n    def forward(self, {inputs}):\n        return {result}\n"
            for name, (init, inputs, result, params) in CASES.items()
        )
    )
    found = reasons(extract(text, tmp_path))
    assert set(found) == {name.title() for name in CASES}
    missed = {name for name, reason in found.items() if reason != "kept"}
    assert not missed


def test_outcomes_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    text = HEAD + "class A(nn.Module):\n    def forward(self, x):\n        return x.exp()\n"
    assert extract(text, tmp_path) == extract(text, tmp_path / "other")


def test_the_environment_is_taken_to_be_empty(tmp_path: Path) -> None:
    text = """
import os
import torch
from torch import nn

if "FAST_GATE" in os.environ:
    _SHARPNESS = int(os.environ["FAST_GATE"])
else:
    _SHARPNESS = 3


class Gate(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(_SHARPNESS * x)
"""
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "_SHARPNESS = 3" in code
    assert "os.environ" not in code


def test_a_size_that_has_to_equal_a_default_becomes_an_argument(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Cross(nn.Module):
    \"\"\"x: (batch, features)\"\"\"

    def __init__(self, features: int = 160, rank: int = 24):
        super().__init__()
        self.down = nn.Linear(features, rank, bias=False)
        self.up = nn.Linear(rank, features)

    def forward(self, x):
        return x * self.up(torch.tanh(self.down(x))) + x
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "torch.randn(BATCH, FEATURES)" in code
    assert "return [FEATURES]" in code
    assert row["arguments"] == [{"name": "features", "value": "FEATURES", "evidence": "default"}]


def test_sizes_that_are_equal_by_chance_get_names_of_their_own(tmp_path: Path) -> None:
    """The search sets a width to the number of channels; whether that must be is tried out."""
    text = (
        HEAD
        + """
class Gate(nn.Module):
    def __init__(self, channels=48):
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 1)
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        return self.mix(x) * self.weight[:, None, None]
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)" in code and "return [CHANNELS]" in code


def test_a_program_does_not_ask_its_surroundings(tmp_path: Path) -> None:
    text = (
        "import os\nimport sys\n"
        + HEAD
        + """
CHECKS = os.getenv("PACKAGE_CHECKS", "1") == "1" and os.environ.get("DEBUG") is None

class Doubled(nn.Module):
    def forward(self, x):
        return x.cos() * 2 if CHECKS and sys.platform != "win32" else x
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "import os" not in code and "import sys" not in code
    assert 'CHECKS = "1" == "1" and None is None' in code.replace("'", '"')
    assert any("'DEBUG' is not set" in edit for edit in row["edits"])  # type: ignore[attr-defined]


def test_two_arguments_of_one_size_stay_two(tmp_path: Path) -> None:
    """The input has the size of `in_dim`; that `out_dim` has it too by default is chance."""
    text = (
        HEAD
        + """
class Projection(nn.Module):
    def __init__(self, in_dim: int = 128, out_dim: int = 128):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim))

    def forward(self, x):
        return torch.relu(x) @ self.weight.T
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "return [IN_DIM, OUT_DIM]" in code and "SEQ_LEN, IN_DIM)" in code


def test_a_guess_too_dear_is_made_smaller(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Wide(nn.Module):
    def __init__(self, dim=512):
        super().__init__()
        self.mix = nn.ModuleList(nn.Conv1d(dim, dim, 31, padding=15) for _ in range(3))

    def forward(self, x):
        \"\"\"x: (batch, length, dim)\"\"\"
        x = x.transpose(1, 2)
        for layer in self.mix:
            x = F.gelu(layer(x))
        return x
"""
    )
    row = one_kept(extract(text, tmp_path))
    sizes = sizes_of(str(row["code"]))
    assert sizes["DIM"] == 512, "an argument of the author's is not what gives way"
    positions = math.prod(size for name, size in sizes.items() if name != "DIM")
    assert positions * 3 * 31 * 512**2 <= 1_500_000_000, sizes


def test_what_a_config_is_asked_for_in_forward_is_in_the_program(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.mix = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x, y):
        if x.shape[1] != y.shape[1]:
            raise ValueError("two lengths")
        return self.mix(x * (1 + self.config.layer_scale)) * y
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "layer_scale" in code.partition("class Model")[0]


def test_ids_reach_the_whole_table(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Lookup(nn.Module):
    def __init__(self, vocab_size, dim, kinds: int = 37):
        super().__init__()
        self.table = nn.Embedding(vocab_size, dim)
        self.kinds = nn.Embedding(kinds, dim)

    def forward(self, token_ids, kind_ids):
        return self.table(token_ids) + self.kinds(kind_ids)
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "token_ids = torch.randint(0, VOCAB_SIZE, (BATCH, SEQ_LEN))" in code
    assert "kind_ids = torch.randint(0, 37, (BATCH, SEQ_LEN))" in code, "a default has no name"


def test_ids_that_nothing_limits_stay_small(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Scaled(nn.Module):
    def forward(self, x, step_ids):
        return x * step_ids.float().mean()
"""
    )
    assert "torch.randint(0, 100, (BATCH, SEQ_LEN))" in str(
        one_kept(extract(text, tmp_path))["code"]
    )


def test_a_forward_with_pairs_and_records_gets_a_plain_one_around_it(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from typing import NamedTuple, Tuple

class Seen(NamedTuple):
    out: torch.Tensor
    cache: None
    weights: tuple

class Turned(nn.Module):
    def __init__(self, dim):
        super(Turned, self).__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x, pair: Tuple[torch.Tensor, torch.Tensor]):
        x = self.mix(x)
        cos, sin = pair
        out = x * cos + x.roll(1, -1) * sin
        return Seen(out, None, (x.softmax(-1), out))
"""
    )
    (outcome,) = extract(text, tmp_path)
    assert isinstance(outcome, Kept), outcome
    code = str(outcome.columns["code"])
    assert "class Turned(nn.Module)" in code and "super(Turned, self)" in code
    assert "class Model(Turned):" in code and "def forward(self, x, pair_0, pair_1):" in code
    assert "result = super().forward(x, (pair_0, pair_1))" in code
    assert "return result[0], result[2][0]" in code
    names = [one["name"] for one in outcome.columns["inputs"]]  # type: ignore[attr-defined]
    assert names == ["x", "pair_0", "pair_1"]
    assert any("plain tensors" in edit for edit in outcome.columns["edits"])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("if kind == 'tall':\n            self.size = 3", "'tall'"),
        ("self.size = {'thin': 1, 'wide': 2}[kind]", "'thin'"),
        ("self.size = TABLE[kind]", "320"),
        ("match kind:\n            case 'round':\n                self.size = 4", "'round'"),
    ],
)
def test_an_argument_gets_what_the_code_compares_it_with(
    condition: str, expected: str, tmp_path: Path
) -> None:
    text = (
        HEAD
        + f"""
TABLE = {{320: 3, 640: 5}}

class Choosy(nn.Module):
    def __init__(self, kind):
        super().__init__()
        {condition}

    def forward(self, x):
        return x * self.size
"""
    )
    row = one_kept(extract(text, tmp_path))
    (argument,) = row["arguments"]  # type: ignore[misc]
    assert argument == {"name": "kind", "value": expected, "evidence": "compared in the code"}


def test_what_a_config_holds_is_changed_rather_than_the_config(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Typed(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        assert config.pattern_names[layer_idx] is not None
        self.mix = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x):
        return self.mix(x)
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "class Config:" in code and re.search(r"pattern_names = [(\[]", code)


def test_a_long_sequence_of_ids_is_shortened_until_it_is_cheap(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Dear(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 1024)
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(8))

    def forward(self, input_ids):
        x = self.table(input_ids)
        for layer in self.layers:
            x = layer(x)
        return x
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert "torch.randint(0, 100, (BATCH, SEQ_LEN))" in code
    assert sizes_of(code)["SEQ_LEN"] < 80


def test_what_is_missing_is_none_where_nothing_that_runs_reads_it(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import numpy as np

class Branching(nn.Module):
    def forward(self, x):
        if x.dim() > 9:
            return np.fft.rfft(x), gone(x)
        return x * 2

class Needing(nn.Module):
    def forward(self, x):
        return np.fft.rfft(x) * x

class Decorated(nn.Module):
    start = np.random.rand(3)

    def forward(self, x):
        return x * self.start[0]
"""
    )
    outcomes = extract(text, tmp_path)
    assert reasons(outcomes) == {
        "Branching": "kept",
        "Needing": "outside_dependency",
        "Decorated": "outside_dependency",
    }
    (kept,) = (one.columns for one in outcomes if isinstance(one, Kept))
    assert "np = None" in str(kept["code"]) and "gone = None" in str(kept["code"])
    edits = " ".join(kept["edits"])  # type: ignore[arg-type]
    assert "np is None: np from numpy is missing, and nothing that runs reads it" in edits


def test_what_is_registered_with_an_object_comes_along(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Factory:
    def __init__(self):
        self.makers = {}

    def makes(self, name):
        def keep(maker):
            self.makers[name] = maker
            return maker
        return keep

    def add(self, name, maker):
        self.makers[name] = maker

ACTS = Factory()

@ACTS.makes("silu")
def silu_maker():
    return nn.SiLU()

ACTS.add("tanh", nn.Tanh)
OTHERS = Factory()
OTHERS.add("gone", nowhere)

class Made(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.last = ACTS.makers["silu"](), ACTS.makers["tanh"]()

    def forward(self, x):
        return self.last(self.act(x))
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert '@ACTS.makes("silu")' in code and 'ACTS.add("tanh", nn.Tanh)' in code
    assert "OTHERS" not in code


@pytest.mark.parametrize(
    ("bases", "written"),
    [
        ("ModelMixin, Scaling, ConfigMixin", "nn.Module, Scaling"),
        ("ConfigMixin, ModelMixin, Scaling", "nn.Module, Scaling"),
        ("Scaling, ModelMixin, ConfigMixin, metaclass=ABCMeta", "Scaling, nn.Module"),
        ("ModelMixin,\n        ConfigMixin, BaseModule, Scaling", "nn.Module, Scaling"),
    ],
)
def test_a_base_of_the_package_stays_beside_those_that_are_dropped(
    bases: str, written: str, tmp_path: Path
) -> None:
    text = (
        HEAD
        + f"""
from somewhere import ConfigMixin, ModelMixin, BaseModule
from abc import ABCMeta

class Scaling:
    def scaled(self, x):
        return x * 3

class Mixed({bases}):
    def forward(self, x):
        return self.scaled(x)
"""
    )
    code = str(one_kept(extract(text, tmp_path))["code"])
    assert f"class Model({written}):" in " ".join(code.split()) and "class Scaling:" in code


@pytest.mark.parametrize(
    ("line", "rank"),
    [("b, h, w, p, d, k = *x.shape, self.k", 5), ("x = rearrange(x, 'b (h p) w d -> b h w p d', p=2)", 4)],
)  # fmt: skip
def test_unpacking_and_patterns_tell_an_inputs_rank(line: str, rank: int, tmp_path: Path) -> None:
    text = (
        HEAD
        + f"""
from einops import rearrange

class Ranked(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2

    def forward(self, x):
        {line}
        return x * self.k
"""
    )
    (described,) = one_kept(extract(text, tmp_path))["inputs"]  # type: ignore[misc]
    assert len(described["shape"]) == rank
    assert described["evidence"] in ("unpacking", "einops pattern")


def test_a_branch_that_never_runs_is_not_part_of_the_program(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from utils import is_torch_npu_available, is_torch_version

class Portable(nn.Module):
    def forward(self, x):
        if is_torch_npu_available() and x.is_npu:
            import torch_npu
            return torch_npu.npu_silu(x)
        elif is_torch_version("<", "2.0"):
            return missing(x)
        else:
            x = x * 2
        return x
"""
    )
    row = one_kept(extract(text, tmp_path))
    code = str(row["code"])
    assert "torch_npu" not in code.replace("is_torch_npu_available", "") and "missing" not in code
    assert any("never runs: if is_torch_npu_available()" in edit for edit in row["edits"])  # type: ignore[attr-defined]
