"""A problem of a release: its program runs at each shape, and an answer can be paid for."""

import math
import random

import pytest
import torch

import kernelset
from kernelset.reward import value
from pipeline.errors import KernelsetError, UsageError
from tests.kernelset.releases import DEVICE, eager, small_rows, write_release


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> kernelset.Problems:
    return kernelset.load(write_release(tmp_path_factory.mktemp("small") / "r", small_rows()))


@pytest.mark.parametrize("index", [0, 40, 80])
def test_a_program_runs_at_each_of_its_shapes(problems: kernelset.Problems, index: int) -> None:
    problem = problems[index]
    for shape in problem.shapes:
        inputs = problem.inputs(shape, seed=1)
        with torch.no_grad():
            output = problem.model(shape)(*inputs)
            again = problem.model(shape)(*problem.inputs(shape.name, seed=1))
            other = problem.model(shape)(*problem.inputs(shape.shape_id, seed=2))
        assert problem.matches(output, again)
        assert not problem.matches(output, other)


def test_the_program_at_a_shape_has_its_sizes_and_no_other_change(
    problems: kernelset.Problems,
) -> None:
    problem = problems[0]
    shape = problem.shapes[-1]
    namespace: dict[str, object] = {}
    exec(problem.program(shape), namespace)
    assert {name: namespace[name] for name in shape.sizes} == dict(shape.sizes)
    changed = [
        (a, b)
        for a, b in zip(problem.code.splitlines(), problem.program(shape).splitlines(), strict=True)
        if a != b
    ]
    assert all(a.split(" = ")[0] in shape.sizes for a, _ in changed)


def test_the_default_shape_is_never_a_held_out_one(problems: kernelset.Problems) -> None:
    row = next(one.row for one in problems if one.shapes[-1].held_out and len(one.shapes) > 1)
    held_out, *others = row["shapes"][::-1]
    assert (
        kernelset.Problem(row | {"shapes": [held_out, *others]}).shape().name == others[0]["name"]
    )
    assert kernelset.Problem(row | {"shapes": [held_out]}).shape().held_out  # there is no other


def test_the_callers_random_numbers_are_left_alone(problems: kernelset.Problems) -> None:
    torch.manual_seed(5)
    random.seed(5)
    expected = torch.rand(3), random.random()
    torch.manual_seed(5)
    random.seed(5)
    problems[0].inputs(seed=3)
    problems[0].model()
    assert torch.equal(torch.rand(3), expected[0])
    assert random.random() == expected[1]


def test_a_model_can_be_pickled_and_its_weights_follow_the_seed(
    problems: kernelset.Problems,
) -> None:
    problem = next(one for one in problems if one.row["parameters"] > 0)
    first, same = problem.model(seed=1).state_dict(), problem.model(seed=1).state_dict()
    assert all(torch.equal(first[name], same[name]) for name in first)


def test_an_unknown_shape_is_told_with_those_there_are(problems: kernelset.Problems) -> None:
    with pytest.raises(kernelset.UnknownShape, match=r"no shape 'huge'; there are: train \("):
        problems[3].program("huge")


def test_a_baseline_is_found_by_part_of_the_devices_name(problems: kernelset.Problems) -> None:
    found = problems[0].baseline(DEVICE.lower()[:6], mode="eager")
    assert found.device == DEVICE
    assert found == problems[0].baseline(DEVICE, problems[0].shapes[0], mode="eager")
    assert found.seconds == found.median_ms / 1e3


def test_a_missing_baseline_is_told_with_what_there_is(problems: kernelset.Problems) -> None:
    with pytest.raises(kernelset.MissingBaseline) as error:
        problems[3].baseline("H100")
    assert f"eager float32 on {DEVICE}" in str(error.value)


def test_a_time_that_was_not_accepted_is_no_baseline(problems: kernelset.Problems) -> None:
    row = dict(problems[0].row)
    row["baselines"] = [eager(row) | {"status": "noisy", "median_ms": None}]
    with pytest.raises(kernelset.MissingBaseline, match="it was measured, but is 'noisy'"):
        kernelset.Problem(row).baseline(DEVICE, mode="eager")


def test_a_device_that_fits_two_must_be_named_in_full(problems: kernelset.Problems) -> None:
    row = dict(problems[0].row)
    base = eager(row)
    row["baselines"] = [base | {"device": name} for name in ("NVIDIA H100", "NVIDIA H200")]
    problem = kernelset.Problem(row)
    with pytest.raises(UsageError, match="fits several devices"):
        problem.baseline("nvidia", mode="eager")
    assert problem.baseline("h200", mode="eager").device == "NVIDIA H200"


@pytest.mark.parametrize(
    ("speedup", "expected"), [(0.0, 0.310), (0.5, 0.426), (1.0, 0.550), (2.0, 0.769), (3.0, 0.900)]
)
def test_the_reward_is_that_of_the_paper(speedup: float, expected: float) -> None:
    assert value(speedup, True) == pytest.approx(expected, abs=5e-4)
    assert value(speedup, False) == 0.0


def test_a_reward_is_relative_to_the_rows_own_baseline(problems: kernelset.Problems) -> None:
    problem = problems[0]
    seconds = problem.baseline(DEVICE, mode="eager").seconds / 2
    assert problem.reward(seconds, True, device=DEVICE, mode="eager") == pytest.approx(
        1 / (1 + math.exp(-1.2))
    )
    assert problem.reward(None, False, device=DEVICE, mode="eager") == 0.0
    for impossible in (0.0, -1.0, math.nan, None):
        with pytest.raises(UsageError, match="above zero"):
            problem.reward(impossible, True, device=DEVICE, mode="eager")


def floating_problem(problems: kernelset.Problems) -> tuple[kernelset.Problem, torch.Tensor]:
    problem = next(one for one in problems if one.row["dtypes"] == ["float32"])
    return problem, problem.model()(*problem.inputs()).detach()


def test_the_tolerance_is_the_rows_own(problems: kernelset.Problems) -> None:
    problem, reference = floating_problem(problems)
    allowed = problem.row["atol"] + problem.row["rtol"] * reference.double().abs()
    assert problem.matches((reference.double() + 0.99 * allowed), reference)
    assert not problem.matches((reference.double() + 1.5 * allowed), reference)


def test_answers_that_only_look_right_are_wrong(problems: kernelset.Problems) -> None:
    problem, reference = floating_problem(problems)

    class Liar(torch.Tensor):
        """A tensor that compares as it likes."""

    spoiled = reference.clone()
    spoiled.view(-1)[0] = math.nan
    for wrong in (
        spoiled,
        reference[..., :1],  # would broadcast
        reference.flatten(),
        reference.int(),
        [reference, reference],
        reference.clone().as_subclass(Liar),
        reference.tolist(),
        None,
        torch.zeros_like(reference),
    ):
        assert not problem.matches(wrong, reference)
    assert problem.matches([reference.clone()], (reference,))


def test_a_program_that_proves_nothing_in_bfloat16_has_no_tolerance_there(
    problems: kernelset.Problems,
) -> None:
    problem = next(one for one in problems if one.row["rtol_bf16"] is None)
    with pytest.raises(KernelsetError, match="no tolerance in bfloat16"):
        problem.tolerance("bfloat16")
    with pytest.raises(UsageError, match="there are float32 and bfloat16"):
        problem.tolerance("float8")
