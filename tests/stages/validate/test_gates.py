"""The gates as pure functions: what they say of numbers, at and around their thresholds."""

from typing import Any

import pytest

from stages.validate.gates import GATES, Reject, check_text
from stages.validate.gates.dependence import LEAST_EFFECT, inputs_matter
from stages.validate.gates.tolerance import (
    MOST_NOISE,
    no_trivial_answer,
    signal_over_noise,
    tolerance_of,
)


def seen(**changes: Any) -> dict[str, Any]:
    measured = {
        "output_scale": 2.0,
        "worst_error": 1e-6,
        "worst_error_bf16": 0.01,
        "noise": 1e-6,
        "trivial": [],
    }
    return measured | changes


def reasons(verdicts: Any) -> list[str]:
    return [verdict.reason for verdict in verdicts if isinstance(verdict, Reject)]


def test_every_gate_has_a_policy_version_and_a_reason_in_its_docstring() -> None:
    assert len({gate.name for gate in GATES}) == len(GATES)
    for gate in GATES:
        assert gate.policy >= 1
        assert gate.check.__doc__


def test_tolerance_never_falls_below_the_floor_and_grows_with_the_error() -> None:
    assert tolerance_of(seen(worst_error=0.0)).rtol == 1e-4
    assert tolerance_of(seen(worst_error=1e-4)).rtol == 2e-3
    wider = [tolerance_of(seen(worst_error=e)).rtol for e in (0, 1e-6, 1e-5, 1e-4, 1e-3)]
    assert wider == sorted(wider)


def test_absolute_tolerance_is_in_units_of_the_output() -> None:
    assert tolerance_of(seen(output_scale=1e-9)).atol == pytest.approx(1e-13)


def test_no_tolerance_is_given_where_bfloat16_proves_nothing() -> None:
    assert tolerance_of(seen(worst_error_bf16=0.5)).rtol_bf16 is None
    assert tolerance_of(seen(worst_error_bf16=None)).rtol_bf16 is None


@pytest.mark.parametrize(
    ("noise", "rejected"), [(MOST_NOISE, []), (MOST_NOISE * 1.01, ["noise_reaches_signal"])]
)
def test_noise_is_compared_with_the_signal(noise: float, rejected: list[str]) -> None:
    assert reasons(signal_over_noise(seen(noise=noise))) == rejected


def test_a_trivial_answer_is_held_against_the_rows_own_tolerance() -> None:
    assert reasons(no_trivial_answer(seen(trivial=[["zeros", 9e-5]]))) == ["trivial_answer_passes"]
    assert reasons(no_trivial_answer(seen(trivial=[["zeros", 2e-4]]))) == []
    loose = seen(trivial=[["zeros", 2e-4]], worst_error=1e-4)
    assert reasons(no_trivial_answer(loose)) == ["trivial_answer_passes"]


def test_a_small_but_real_effect_counts() -> None:
    at = {"input_effects": [[0, LEAST_EFFECT * 2], [1, LEAST_EFFECT / 2]]}
    assert reasons(inputs_matter(at)) == ["input_ignored"]


@pytest.mark.parametrize(
    "line",
    ["from os import path", "import torch.distributed as d", "from .x import y", "import numpy"],
)
def test_only_the_standard_librarys_harmless_part_and_torch_are_imported(line: str) -> None:
    assert "forbidden_import" in reasons(check_text(line))


@pytest.mark.parametrize(
    "line", ["import torch.nn as nn", "from typing import Any", "from dataclasses import field"]
)
def test_ordinary_imports_pass(line: str) -> None:
    assert "forbidden_import" not in reasons(check_text(line))
