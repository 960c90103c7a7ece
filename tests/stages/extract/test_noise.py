"""Random numbers for guesses: cheap, and of the distribution that was asked for."""

import math

import pytest
import torch

from stages.extract.prober import noise


def test_a_large_weight_gets_the_spread_that_its_init_gives() -> None:
    weight = torch.empty(256, 512)
    assert noise.fill("kaiming_uniform_", (weight,), {"a": math.sqrt(5)}) is weight
    assert float(weight.std()) == pytest.approx(1 / math.sqrt(512), rel=0.05)
    noise.fill("uniform_", (weight, -2.0), {"b": 4.0})
    assert -2 <= float(weight.min()) < -1.9 and 3.9 < float(weight.max()) <= 4
    noise.fill("normal_", (weight,), {"mean": 3.0, "std": 0.5})
    assert float(weight.mean()) == pytest.approx(3, abs=0.02)
    assert float(weight.std()) == pytest.approx(0.5, rel=0.05)


def test_what_is_no_plain_filling_of_a_large_tensor_is_left_to_torch() -> None:
    assert noise.fill("uniform_", (torch.empty(8, 8),), {}) is None
    assert noise.fill("uniform_", (torch.empty(256, 256, dtype=torch.float64),), {}) is None
    assert noise.fill("relu_", (torch.empty(256, 256),), {}) is None
    assert noise.fill("uniform_", (), {}) is None


def test_large_inputs_are_not_alike_along_an_axis() -> None:
    drawn = noise.normal((4, 96, 32, 48))
    assert drawn.shape == (4, 96, 32, 48)
    assert float(drawn.std()) == pytest.approx(1, rel=0.02)
    assert not torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[:, 0], drawn[:, 1])
