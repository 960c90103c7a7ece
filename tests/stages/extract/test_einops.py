"""What is written in the place of einops gives what einops gives."""

from collections.abc import Mapping
from pathlib import Path

import einops
import einops.layers.torch
import pytest
import torch

from stages.extract.einops import Unwritable, methods_for
from stages.extract.names import WRITTEN
from tests.stages.extract.helpers import extract, one_kept

CASES = [
    ("rearrange", "b n (h d) -> b h n d", (2, 5, 12), {"h": 3}, ""),
    ("rearrange", "b (h p) (w q) c -> b (h w) (p q c)", (2, 6, 8, 3), {"p": 3, "q": 2}, ""),
    ("rearrange", "b ... d -> b (...) d", (2, 3, 4, 5), {}, ""),
    ("rearrange", "b (h d) ... -> b h (...) d", (2, 6, 4, 5), {"h": 3}, ""),
    ("rearrange", "... () () -> ...", (2, 3, 1, 1), {}, ""),
    ("rearrange", "... 1 -> ...", (2, 3, 1), {}, ""),
    ("rearrange", "i ... -> i 1 ...", (2, 3, 4), {}, ""),
    ("rearrange", "j ... -> 1 j ...", (2, 3, 4), {}, ""),
    ("rearrange", "b ... h -> b h ... 1", (2, 3, 4, 5), {}, ""),
    ("rearrange", "(b x y) ... -> b x y ...", (12, 3, 4), {"x": 2, "y": 3}, ""),
    ("rearrange", "b t ... -> (b t) ...", (2, 3, 4, 5), {}, ""),
    ("rearrange", "... m -> (...) m", (2, 3, 4), {}, ""),
    ("rearrange", "... n d -> ... 1 n d", (2, 3, 4), {}, ""),
    ("rearrange", "... (h d) n -> h ... (n d)", (2, 6, 4), {"h": 3}, ""),
    ("rearrange", "b ... (w h d) -> w b h (...) d", (2, 3, 4, 24), {"w": 2, "h": 3}, ""),
    ("rearrange", "a b ... c d -> d ... (b c) a", (2, 3, 7, 4, 5), {}, ""),
    ("repeat", "... d -> b ... d", (3, 4), {"b": 2}, ""),
    ("repeat", "... n -> ... n d", (3, 4), {"d": 2}, ""),
    ("repeat", "... p -> b (...) p", (3, 4, 5), {"b": 2}, ""),
    ("repeat", "b ... -> (b s) ...", (3, 4, 5), {"s": 2}, ""),
    ("repeat", "n d -> b n d", (3, 4), {"b": 2}, ""),
    ("reduce", "b ... t s -> b t s", (2, 3, 4, 5, 6), {}, "mean"),
    ("reduce", "... b s -> b", (2, 3, 4, 5), {}, "sum"),
    ("reduce", "b c (h p) (w q) -> b c h w", (2, 3, 4, 6), {"p": 2, "q": 3}, "max"),
    ("reduce", "b n d -> b d", (2, 3, 4), {}, "mean"),
]


@pytest.mark.parametrize(("function", "pattern", "shape", "sizes", "reduction"), CASES)
def test_the_written_methods_equal_einops(
    function: str, pattern: str, shape: tuple[int, ...], sizes: Mapping[str, int], reduction: str
) -> None:
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)
    written = methods_for(function, pattern, {k: str(v) for k, v in sizes.items()}, reduction)
    expected = getattr(einops, function)(x, pattern, *([reduction] if reduction else []), **sizes)
    torch.testing.assert_close(eval(f"x{written}"), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    "pattern", ["b n d", "b (h d) -> b h d", "b b -> b", "... n ... -> n", "(b ...) d -> b d ..."]
)
def test_what_cannot_be_known_is_left_alone(pattern: str) -> None:
    with pytest.raises(Unwritable):
        methods_for("rearrange", pattern, {})


def test_packing_equals_einops() -> None:
    space: dict[str, object] = {"torch": torch, "math": __import__("math")}
    exec(WRITTEN["pack_axes"] + "\n\n\n" + WRITTEN["unpack_axes"], space)
    parts = [torch.randn(2, 3, 4), torch.randn(2, 4), torch.randn(2, 5, 6, 4)]
    packed, shapes = space["pack_axes"](parts, "b * d")  # type: ignore[operator]
    expected, wanted = einops.pack(parts, "b * d")
    assert torch.equal(packed, expected) and [tuple(one) for one in shapes] == list(wanted)
    again = space["unpack_axes"](packed, shapes, "b * d")  # type: ignore[operator]
    assert all(torch.equal(one, other) for one, other in zip(again, parts, strict=True))


def test_a_program_that_packs_runs_with_torch_alone(tmp_path: Path) -> None:
    text = """
import torch
from torch import nn
from einops import pack, unpack, repeat

class WithRegisters(nn.Module):
    def __init__(self, dim=64, count=4):
        super().__init__()
        self.registers = nn.Parameter(torch.randn(count, dim))
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        registers = repeat(self.registers, "n d -> b n d", b=x.shape[0])
        x, shapes = pack([x, registers], "b * d")
        x, _ = unpack(self.mix(x), shapes, "b * d")
        return x
"""
    row = one_kept(extract(text, tmp_path))
    assert "import einops" not in str(row["code"]) and "def pack_axes" in str(row["code"])
    assert any("pack_axes" in edit for edit in row["edits"])  # type: ignore[attr-defined]
