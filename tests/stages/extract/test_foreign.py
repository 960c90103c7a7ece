"""Small pieces of other packages, and imports that are optional or lost."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.stage import Failed
from stages.extract import work
from stages.extract.configs import smaller, with_aliases
from stages.extract.foreign import FOREIGN, with_needs
from stages.extract.names import STAND_INS
from tests.stages.extract.helpers import extract, one_kept, reasons

HEAD = "import torch\nimport torch.nn as nn\n"


def _words(row: dict[str, object]) -> str:
    return " | ".join(row["edits"])  # type: ignore[arg-type]


def test_small_pieces_of_other_packages_stand_in_the_program(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from timm.models.layers import DropPath, trunc_normal_
from mmcv.cnn import ConvModule

class Mixed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = ConvModule(dim, dim, 3, padding=1, norm_cfg=dict(type="BN"))
        self.drop = DropPath(0.0)
        self.scale = nn.Parameter(torch.zeros(dim, 1, 1))
        trunc_normal_(self.scale, std=0.02)

    def forward(self, x):
        return x + self.drop(self.conv(x) * self.scale)
"""
    )
    row = one_kept(extract(text, tmp_path))
    assert "a short ConvModule stands in for the one of mmcv" in _words(row)
    assert "torch.nn.init.trunc_normal_ for timm.models.layers.trunc_normal_" in _words(row)
    assert "timm" not in str(row["code"]) and "mmcv" not in str(row["code"])


def test_a_files_own_piece_of_that_name_is_taken_as_it_is(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class DropPath(nn.Module):
    def forward(self, x):
        return x * 3

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = DropPath()

    def forward(self, x):
        return self.drop(x)
"""
    )
    codes = [str(one.columns["code"]) for one in extract(text, tmp_path)]  # type: ignore[union-attr]
    assert all("x * 3" in code and "keep_prob" not in code for code in codes)


def test_the_short_pieces_compute_what_torch_computes() -> None:
    names: dict[str, Any] = {}
    wanted = sorted(
        with_needs({"ConvModule", "FrozenBatchNorm2d"}), key=lambda one: len(FOREIGN[one][2])
    )
    exec(
        "import torch\nimport torch.nn as nn\n" + "\n\n".join(FOREIGN[one][1] for one in wanted),
        names,
    )
    x = torch.randn(2, 3, 8, 8)
    conv = names["ConvModule"](3, 4, 3, norm_cfg={"type": "GN", "num_groups": 2}).eval()
    assert torch.equal(conv(x), torch.relu(conv.gn(conv.conv(x)))) and conv.conv.bias is None
    frozen = names["FrozenBatchNorm2d"](3)
    torch.testing.assert_close(frozen(x), torch.nn.BatchNorm2d(3).eval()(x))


def test_an_optional_import_is_none_and_an_optional_einops_is_written(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from importlib import import_module

def optional_import(name, **more):
    return import_module(name), True

Rearrange, has_it = optional_import("einops.layers.torch", name="Rearrange")
apex, has_apex = optional_import("apex")

class Flat(nn.Module):
    def __init__(self, dim):
        super().__init__()
        if not has_it or has_apex:
            raise ImportError
        self.flat = Rearrange("b c h w -> b (h w) c")
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(self.flat(x))
"""
    )
    row = one_kept(extract(text, tmp_path))
    assert "import_module" not in str(row["code"])
    assert "apex is an optional import" in _words(row)


def test_a_module_of_python_that_is_read_but_not_imported_is_imported(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Lost(nn.Module):
    def forward(self, x):
        return x * math.sqrt(x.shape[-1])

class Unknown(nn.Module):
    def forward(self, x):
        return x * math.no_such_thing
"""
    )
    outcomes = extract(text, tmp_path)
    assert reasons(outcomes) == {"Lost": "kept", "Unknown": "unresolved_name"}
    assert "math for math, which the file does not bind" in _words(outcomes[0].columns)  # type: ignore[union-attr]


def test_logging_in_a_branch_that_never_runs_goes_with_it(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Attending(nn.Module):
    def forward(self, x):
        scale = 2
        if is_flash_attention_requested(self) and x is not None:
            scale = 3
            logger.warning_once(
                "falling back"
            )
        return x * scale
"""
    )
    assert "scale = 3" not in str(one_kept(extract(text, tmp_path))["code"])


def test_a_mistake_of_ours_costs_its_class_and_not_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = work.prepare

    def failing(resolver: Any, module: Any, node: Any, allow_missing: bool) -> Any:
        if node.name == "Odd":
            raise ZeroDivisionError("by zero")
        return prepare(resolver, module, node, allow_missing)

    monkeypatch.setattr(work, "prepare", failing)
    text = HEAD + "".join(
        f"\nclass {name}(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
        for name in ("Odd", "Even")
    )
    odd, even = extract(text, tmp_path)
    assert odd == Failed("extract_error", "ZeroDivisionError: by zero", name="Odd")
    assert not isinstance(even, Failed)


def test_a_config_with_more_heads_than_features_is_no_crash() -> None:
    values = {"hidden_size": "768", "num_attention_heads": "1000"}
    assert smaller(values)["num_attention_heads"] == "1000"


def test_a_configs_other_names_have_the_same_value() -> None:
    values = {"d_model": "768", "n_head": "12", "attribute_map": "{'hidden_size': 'd_model'}"}
    found = with_aliases(smaller(values))
    assert found["hidden_size"] == found["d_model"] and int(found["d_model"]) % 12 == 0


def _stand_in(name: str) -> Any:
    space: dict[str, Any] = {}
    exec("import math\nimport torch\nimport torch.nn as nn\n\n\n" + STAND_INS[name], space)
    return space[name]


def test_short_masks_hide_what_is_padded_what_comes_later_and_other_sequences() -> None:
    embeds, lowest = torch.zeros(1, 4, 8), torch.finfo(torch.float32).min
    padding = torch.tensor([[1, 1, 0, 1]])
    both = _stand_in("create_bidirectional_mask")(None, embeds, padding)
    assert torch.equal(both == 0, padding.bool()[:, None, None]) and both.min() == lowest
    causal = _stand_in("create_causal_mask")
    expected = torch.ones(4, 4, dtype=torch.bool).tril()
    assert torch.equal(causal(None, embeds)[0, 0] == 0, expected)
    assert torch.equal(causal(None, embeds, padding)[0, 0] == 0, expected & padding.bool())
    packed = causal(None, embeds, position_ids=torch.tensor([[0, 1, 0, 1]]))[0, 0] == 0
    assert torch.equal(packed, torch.block_diag(*[torch.ones(2, 2).tril()] * 2).bool())


def test_short_activations_are_the_formulas_that_they_stand_for() -> None:
    table, x = _stand_in("ACT2FN"), torch.linspace(-4, 4, 101)
    tanh = torch.nn.functional.gelu(x, approximate="tanh")
    for name in ("gelu_new", "gelu_fast"):
        torch.testing.assert_close(table[name](x), tanh)
    assert torch.equal(table["quick_gelu"](x), x * torch.sigmoid(1.702 * x))
    assert torch.equal(table["relu2"](x), torch.relu(x) ** 2)
