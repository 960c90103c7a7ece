"""Each way of being no problem ends in its own reason."""

import pytest

from pipeline.stage import Kept, Removed
from tests.stages.validate.conftest import Validate
from tests.stages.validate.programs import example, program

LINEAR = "self.linear = nn.Linear(D, D)"
GOOD = program("return torch.tanh(self.linear(x))", init=LINEAR)
KEY = "AKIA" + "QWERTYUIOPASDFGH"  # in two parts, so that this file itself holds no key

BAD = {
    # It does not run.
    "a syntax error": ("does_not_load", "def Model(:"),
    "no get_inputs": ("incomplete_program", "class Model: pass\ndef get_init_inputs(): pass"),
    "a constructor that raises": ("does_not_construct", program("return x", init="1 / 0")),
    "a forward that raises": ("forward_fails", program("return x @ x")),
    "inputs that raise": ("inputs_fail", program("return x + 1", inputs="[torch.randn(-1)]")),
    "an error on the second call only": (
        "fails_second_call",
        program(
            "self.calls += 1\nif self.calls > 1: raise ValueError\nreturn x.sin() + x",
            init="self.calls = 0",
        ),
    ),
    # Its inputs are not inputs.
    "inputs from a generator": (
        "bad_inputs",
        GOOD.replace("return [torch.randn(B, D)]", "yield torch.randn(B, D)"),
    ),
    "a sparse input": (
        "bad_inputs",
        program("return x.to_dense().exp()", inputs="[torch.eye(D).to_sparse()]"),
    ),
    "an input without elements": (
        "input_empty",
        program("return x.exp()", inputs="[torch.randn(0, D)]"),
    ),
    "inputs that never change": (
        "fixed_inputs",
        program("return x.exp()", inputs="[torch.ones(B, D)]"),
    ),
    # Its output is not an output.
    "a dict": ("output_not_tensor", program("return {'y': x.exp()}")),
    "None": ("output_not_tensor", program("x.exp()")),
    "a generator": ("output_not_tensor", program("return (y.exp() for y in x)")),
    "a number": ("output_not_tensor", program("return float(x.exp().sum())")),
    "nested tuples": ("output_nested", program("return x.exp(), (x.sin(), x.cos())")),
    "a sparse tensor": ("output_sparse", program("return x.relu().to_sparse()")),
    "a complex tensor": ("output_complex", program("return torch.fft.fft(x)")),
    "a tensor without elements": ("output_empty", program("return x.exp()[:0]")),
    "a tensor of a subclass": (
        "output_not_tensor",
        program("return x.exp().as_subclass(Odd)", top="class Odd(torch.Tensor):\n    pass"),
    ),
    # It costs too much.
    "twenty gigabytes": ("memory_limit", program("return torch.ones(5_000_000_000).sum() * x")),
    # It is no function.
    "NaN": ("not_finite", program("return torch.log(-x.abs())")),
    "infinity": ("not_finite", program("return x / (x - x)")),
    "random numbers in forward": ("random_forward", program("return x + torch.rand_like(x)")),
    "random numbers of Python in forward": (
        "random_forward",
        program("return x.exp() * random.random()", top="import random"),
    ),
    "a count of calls": (
        "second_call_differs",
        program("self.n += 1\nreturn x.exp() * self.n", init="self.n = 0"),
    ),
    "a buffer that moves": (
        "changes_state",
        program(
            "self.seen += x.mean()\nreturn x.exp()",
            init="self.register_buffer('seen', torch.zeros(()))",
        ),
    ),
    "an identity that differs between processes": (
        "other_process_differs",
        program(
            "return x.exp() * self.salt",
            init="self.salt = 1 + id(nn) // 64 % 1009 / 1009",
        ),
    ),
    "the hash of a string": (
        "hash_seed_differs",
        program("return x.exp() * (1 + hash('x') % 1009 / 1009)"),
    ),
    "the order of a set of strings": (
        "hash_seed_differs",
        program(
            "for name in {'query', 'key', 'value', 'gate'}: x = self.layers[name](x).tanh()\nreturn x",
            init="names = ('query', 'key', 'value', 'gate')\n"
            "self.layers = nn.ModuleDict({name: nn.Linear(D, D) for name in names})",
        ),
    ),
    "a parameter that nobody initialises": (
        "uninitialised_memory",
        program(
            "return x @ (self.weight.nan_to_num().clamp(-1, 1) + torch.eye(D))",
            init="self.weight = nn.Parameter(torch.empty(D, D))",
        ),
    ),
    "an input written to": ("mutates_input", program("x.mul_(2)\nreturn x.exp()")),
    "the input itself": ("returns_input", program("return F.dropout(x, 0.5, self.training) * 1")),
    "a view of the input": ("no_work", program("return x.view(-1)[3:]")),
    "a relu on what is positive already": (
        "returns_input",
        program("return x.relu()", inputs="[torch.rand(B, D)]"),
    ),
    "torch replaced": (
        "replaces_torch",
        program("return F.gelu(x)", top="F.gelu = lambda x: x * torch.sigmoid(1.702 * x)"),
    ),
    # Something does not matter.
    "an input that is ignored": (
        "input_ignored",
        program("return x.exp()", arguments="x, y", inputs="[torch.rand(B, D), torch.rand(B)]"),
    ),
    "an input that is cancelled": (
        "input_ignored",
        program(
            "return x.exp() + y - y", arguments="x, y", inputs="[torch.rand(B), torch.rand(B)]"
        ),
    ),
    "a constant": ("constant_output", program("return torch.softmax(x.sum(1, True), 1)")),
    "a shape and nothing else": ("constant_output", program("return torch.ones(len(x)) / 3")),
    "an axis of equal slices": (
        "uniform_axis",
        program("return x.mean(1, keepdim=True).expand(-1, D) * 2.0"),
    ),
    "an unused parameter": (
        "unused_parameter",
        program("return x.exp()", init="self.w = nn.Parameter(torch.randn(D))"),
    ),
    "a parameter times zero": (
        "parameter_without_effect",
        program(
            "return x.exp() + 0 * self.w.view(-1)", init="self.w = nn.Parameter(torch.randn(D))"
        ),
    ),
    "an unused submodule": (
        "unused_module",
        program("return x.exp()", init="self.act = nn.GELU()"),
    ),
    "dead computation": ("dead_op", program("y = x.sin() @ x.T\nreturn x.exp()")),
    "computation that is absorbed": (
        "dead_op",
        program("return torch.clamp(x.sin(), 5, 6) + x.exp()"),
    ),
    # A checker could not tell right from wrong.
    "rounding noise": (
        "noise_reaches_signal",
        program("return F.layer_norm(x, (D,)).mean(1)"),
    ),
    "cancelled digits": ("noise_reaches_signal", program("return (x + 1e7) - 1e7")),
    "zeros pass": (
        "trivial_answer_passes",
        program("return (x > 3.2).float() * x", inputs="[torch.randn(64, 64)]"),
    ),
    "an input passes": (
        "trivial_answer_passes",
        program("return self.norm(x)", init="self.norm = nn.BatchNorm1d(D)"),
    ),
    # It does what a problem has no business with.
    "a forbidden import": ("forbidden_import", program("return x.exp()", top="import socket")),
    "a forbidden call": ("forbidden_call", program("eval('1')\nreturn x.exp()")),
    "a seed of its own": ("forbidden_call", program("torch.manual_seed(0)\nreturn x.exp()")),
    "a key": ("secret", program(f"key = '{KEY}'\nreturn x.exp()")),
    "a key in a comment": ("secret", program(f"return x.exp()  # {KEY}")),
    "a password": ("secret", program("return x.exp()", top="password = 'correct horse'")),
    "a person's address in a string": (
        "personal_data",
        program("return x.exp()", top="AUTHOR = 'jane.doe@example.org'"),
    ),
    "a person's folder in a string": (
        "personal_data",
        program("return x.exp()", top="PLACE = '/home/jane/weights'"),
    ),
    "a hundred kilobytes": ("program_too_long", GOOD + "#" * 100_000),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_program_is_removed_for_the_right_reason(name: str, validate: Validate) -> None:
    reason, code = BAD[name]
    outcome = validate(code)
    assert isinstance(outcome, Removed), outcome
    assert outcome.reason == reason, outcome


DEFECTS = {
    "IgnoresMask": ("input_ignored", "[torch.randn(B, 16, 64), torch.rand(B, 16) > 0.3]"),
    "AddsNoiseAlways": ("random_forward", "[torch.randn(B, 64)]"),
    "RemembersLastBatch": ("changes_state", "[torch.randn(B, 32)]"),
    "NormalisesInPlace": ("mutates_input", "[torch.randn(B, 64)]"),
    "SoftmaxOfOneLogit": ("constant_output", "[torch.randn(B, 64)]"),
    "ForgottenBranch": ("dead_op", "[torch.randn(B, 16, 8, 8)]"),
    "UnusedTemperature": ("unused_parameter", "[torch.randn(B, 64), torch.randn(B, 64)]"),
    "OnlyRearranges": ("no_work", "[torch.randn(B, 16, 8, 8)]"),
    "LogOfDifference": ("not_finite", "[torch.randn(B, 64), torch.randn(B, 64)]"),
    "IdenticalKeys": ("uniform_axis", "[torch.randn(B, 16, 32)]"),
}


@pytest.mark.parametrize("class_name", DEFECTS)
def test_a_defective_example_is_removed_for_the_defect_its_docstring_names(
    class_name: str, validate: Validate
) -> None:
    reason, inputs = DEFECTS[class_name]
    outcome = validate(example("defective.py", class_name, inputs))
    assert isinstance(outcome, Removed), outcome
    assert outcome.reason == reason, outcome


def test_the_ledger_tells_a_secrets_kind_and_line_and_never_the_secret(validate: Validate) -> None:
    outcome = validate(f"\n# {KEY}\n{GOOD}")
    assert isinstance(outcome, Removed)
    assert outcome.detail == "AWS Access Key in line 2"
    assert KEY not in str(outcome)


def test_what_differs_under_another_hash_seed_is_told_from_what_differs_by_process(
    validate: Validate,
) -> None:
    by_seed, by_process = (
        validate(BAD[name][1])
        for name in ("the hash of a string", "an identity that differs between processes")
    )
    assert isinstance(by_seed, Removed) and isinstance(by_process, Removed)
    assert by_seed.reason == "hash_seed_differs"
    assert by_seed.detail.startswith("other PYTHONHASHSEED: ")
    assert by_process.reason == "other_process_differs"


@pytest.mark.parametrize("thing", ["prints", "warns"])
def test_a_noisy_program_is_kept_and_flagged(thing: str, validate: Validate) -> None:
    noise = {
        "prints": "print('x' * 1_000_000)",
        "warns": "for k in range(1000): warnings.warn(str(k))",
    }[thing]
    code = program(f"{noise}\nreturn torch.tanh(x) * x.exp()", top="import warnings")
    outcome = validate(code)
    assert isinstance(outcome, Kept), outcome
    assert thing in outcome.columns["flags"]


def test_a_bad_neighbour_changes_nothing(validate: Validate, workplace) -> None:
    from stages.validate import STAGE

    bad = [BAD[name][1] for name in ("twenty gigabytes", "a forward that raises", "torch replaced")]
    rows = [{"problem_id": "p", "code": c, "class_name": "M"} for c in (GOOD, *bad, GOOD)]
    outcomes = STAGE.work(rows, STAGE.settings(), workplace)
    assert outcomes[0] == outcomes[-1] == [validate(GOOD)]
    assert isinstance(outcomes[0][0], Kept)


def test_a_recipe_may_turn_a_reason_into_a_flag(validate: Validate) -> None:
    code = BAD["an unused submodule"][1]
    outcome = validate(code, flag_only=("unused_module",))
    assert isinstance(outcome, Kept)
    assert "unused_module" in outcome.columns["flags"]


def test_a_program_over_its_cpu_limit_is_removed_with_the_limit(validate: Validate) -> None:
    outcome = validate(program("while True: x = x.sin()"), cpu_s=1, wall_s=20)
    assert isinstance(outcome, Removed)
    assert (outcome.reason, outcome.metric, outcome.threshold) == ("cpu_limit", "seconds", 1.0)
