"""FLOPs, bytes and memory against closed forms."""

import pytest
import torch

from pipeline.tracing.facts import Facts, facts_of
from pipeline.tracing.program import Program, ProgramError
from pipeline.tracing.record import faking, record_forward
from tests.stages.validate.programs import program

B, D, F32 = 8, 32, 4


def facts(code: str) -> Facts:
    loaded = Program(code)
    with faking(), torch.no_grad():
        model, inputs = loaded.model(), loaded.inputs()
        return facts_of(record_forward(model, inputs), model, inputs)


def test_a_linear_layer() -> None:
    told = facts(program("return self.l(x)", init="self.l = nn.Linear(D, D)"))
    assert told["flops_matrix"] == 2 * B * D * D
    assert told["parameters"] == D * D + D
    assert told["bytes_fused"] == F32 * (B * D + D * D + D + B * D)


@pytest.mark.parametrize("mask", ["", ", is_causal=True"])
def test_attention_is_counted_though_torch_counts_the_fused_one_as_nothing(mask: str) -> None:
    told = facts(
        program(
            f"return F.scaled_dot_product_attention(x, x, x{mask})",
            inputs="[torch.randn(2, 4, 64, 16)]",
        )
    )
    assert told["flops_matrix"] == 2 * (2 * 4 * 64 * 64 * 16) * 2


def test_a_convolution() -> None:
    code = program(
        "return self.c(x)",
        init="self.c = nn.Conv2d(8, 16, 3, bias=False)",
        inputs="[torch.randn(2, 8, 10, 10)]",
    )
    assert facts(code)["flops_matrix"] == 2 * 2 * 16 * 8 * 8 * 8 * 9


def test_an_elementwise_chain_is_fused_once_and_unfused_each_time() -> None:
    told = facts(program("return (x + 1).mul(x).add(2)"))
    n = F32 * B * D
    assert (told["bytes_fused"], told["bytes_unfused"]) == (2 * n, 2 * n + 3 * n + 2 * n)
    assert told["flops"] == 3 * B * D


def test_a_gather_reads_the_rows_it_takes_and_not_the_table() -> None:
    code = program(
        "return self.e(x)",
        init="self.e = nn.Embedding(100_000, D)",
        inputs="[torch.randint(0, 100_000, (B,))]",
    )
    assert facts(code)["bytes_fused"] == 8 * B + 2 * F32 * B * D


def test_an_expanded_dimension_weighs_nothing() -> None:
    told = facts(program("return x.expand(1000, B, D).sum(0)"))
    assert told["bytes_unfused"] == 2 * F32 * B * D


def test_the_working_set_counts_what_lives_at_once() -> None:
    n = F32 * B * D
    one_at_a_time = facts(program("return x.exp().sin().cos().tan()"))
    all_at_once = facts(program("a, b, c = x.exp(), x.sin(), x.cos()\nreturn a * b * c"))
    assert one_at_a_time["working_set"] == 3 * n
    assert all_at_once["working_set"] == 5 * n


def test_a_program_that_looks_into_its_data_cannot_be_faked_and_says_so() -> None:
    code = program("return x.exp() if x.sum().item() > 0 else x.sin()")
    with pytest.raises(ProgramError, match="needs_data"):
        facts(code)
