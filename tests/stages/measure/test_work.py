"""Operations and bytes counted on real modules, against their closed forms."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from stages.measure.work import Work, count

F32 = 4


def work_of(model: nn.Module, *inputs: Any) -> Work:
    with torch.no_grad():
        return count(model.eval(), inputs)[0]


class Does(nn.Module):
    """A module from a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def elements(*shapes: Sequence[int]) -> int:
    return sum(torch.Size(shape).numel() for shape in shapes)


def test_matmul() -> None:
    m, k, n = 33, 65, 17
    work = work_of(Does(torch.matmul), torch.rand(m, k), torch.rand(k, n))
    assert work.flops_matmul == 2 * m * k * n
    assert work.bytes_min == F32 * elements((m, k), (k, n), (m, n))


def test_linear_with_bias() -> None:
    work = work_of(nn.Linear(64, 128), torch.rand(32, 64))
    assert work.flops_matmul == 2 * 32 * 64 * 128
    assert work.bytes_min == F32 * elements((32, 64), (128, 64), (128,), (32, 128))


def test_grouped_convolution() -> None:
    work = work_of(nn.Conv2d(8, 16, 3, groups=4, bias=False), torch.rand(2, 8, 10, 10))
    assert work.flops_matmul == 2 * (2 * 16 * 8 * 8) * (8 // 4) * 9
    assert work.bytes_min == F32 * elements((2, 8, 10, 10), (16, 2, 3, 3), (2, 16, 8, 8))


def test_attention_counts_both_products() -> None:
    batch, heads, queries, keys, width = 2, 3, 16, 24, 8
    q = torch.rand(batch, heads, queries, width)
    k, v = (torch.rand(batch, heads, keys, width) for _ in range(2))
    work = work_of(Does(F.scaled_dot_product_attention), q, k, v)
    assert work.flops_matmul == 2 * 2 * batch * heads * queries * keys * width
    assert work.bytes_min == F32 * (2 * q.numel() + k.numel() + v.numel())


def test_layer_norm_reads_and_writes_once() -> None:
    work = work_of(nn.LayerNorm(64), torch.rand(32, 64))
    assert work.flops_matmul == 0
    assert work.bytes_min == F32 * (2 * 32 * 64 + 2 * 64)


def test_a_reduction_costs_one_operation_an_element() -> None:
    work = work_of(Does(lambda x: x.sum(-1)), torch.rand(32, 64))
    assert work.flops_other == 32 * 64
    assert work.bytes_min == F32 * (32 * 64 + 32)


def test_a_chain_of_elementwise_operations_moves_its_data_once() -> None:
    work = work_of(Does(lambda x: torch.relu(x * 2 + 1)), torch.rand(1000))
    assert work.flops_other == 3 * 1000
    assert work.bytes_min == F32 * 2 * 1000
    assert work.kernels == 3


def test_a_lookup_counts_the_rows_it_takes_and_not_the_table() -> None:
    work = work_of(nn.Embedding(10_000, 16), torch.randint(0, 10_000, (8,)))
    assert work.bytes_min == F32 * 8 * 16 + 8 * 8 + F32 * 8 * 16


def test_an_expanded_input_is_no_larger_than_its_storage() -> None:
    work = work_of(Does(lambda x: x + 1), torch.rand(1, 64).expand(1000, 64))
    assert work.bytes_min == F32 * (64 + 1000 * 64)


def test_a_parameter_that_is_not_used_is_not_read() -> None:
    class Idle(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.bias

    assert work_of(Idle(8, 8), torch.rand(4, 8)).bytes_min == F32 * (2 * 4 * 8 + 8)


def test_a_view_of_an_input_costs_nothing() -> None:
    work = work_of(Does(lambda x: x.transpose(0, 1)), torch.rand(4, 8))
    assert (work.flops_other, work.bytes_min, work.kernels) == (0, 0, 0)


@pytest.mark.parametrize("times", [1, 3])
def test_an_input_that_is_read_several_times_is_counted_once(times: int) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return sum((x * n for n in range(times)), torch.zeros(()))

    assert work_of(Does(function), torch.rand(100)).bytes_min == F32 * 200
