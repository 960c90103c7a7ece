"""Rows for tests of the label stage."""

from typing import Any

CODE = """
import torch
from torch import nn

BATCH = 32
WIDTH = 256


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.einsum("b i, j i -> b j", torch.relu(self.linear(x)), self.linear.weight)


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [WIDTH]
"""


def row(code: str = CODE, **fields: Any) -> dict[str, Any]:
    """A row as the label stage reads it."""
    ops = fields.pop("ops", {"aten.addmm.default": 1, "aten.relu.default": 1, "aten.mm.default": 1})
    facts = {
        "problem_id": "0" * 32,
        "code": code,
        "ops": [{"op": op, "count": count} for op, count in ops.items()],
        "parameters": 65_792,
        "flops": 8_396_800,
        "flops_matrix": 8_388_608,
        "bytes_fused": 590_848,
        "bytes_unfused": 721_920,
        "outputs": [{"shape": [32, 256], "dtype": "float32"}],
    }
    return facts | fields
