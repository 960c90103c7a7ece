"""Runs the program again and again, each time asking one question."""

import contextlib
import copy
import random
from typing import Any

import torch

from pipeline.tracing.program import Program, ProgramError, blamed, clones, outputs_of
from stages.validate.probes import differ

Seen = dict[str, Any]
OTHER_SEEDS = (2, 3)
MARKED = 4096  # elements of a parameter whose bits are compared before and after a call


class Subject:
    """The program constructed once, with one set of inputs, and the result to compare with."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.model = program.model()
        self.inputs = program.inputs()
        self.others = [program.inputs(seed) for seed in OTHER_SEEDS]
        self.base: list[torch.Tensor] = []

    def run(
        self,
        inputs: list[Any],
        *,
        model: torch.nn.Module | None = None,
        reason: str = "forward_fails",
    ) -> list[torch.Tensor]:
        """The outputs, detached from whatever memory they share.

        Raises:
            ProgramError: `reason`, or one of the `output_…` reasons.
        """
        with torch.no_grad(), blamed(reason):
            return clones(outputs_of((model or self.model)(*inputs)))


def twice(subject: Subject) -> Seen:
    """Two calls with equal inputs: results, state, inputs, random numbers, shared memory."""
    inputs = clones(subject.inputs)
    state = _state(subject.model)
    attributes = _attributes(subject.model)
    drawn = _random_state()
    with torch.no_grad(), blamed("forward_fails"):
        result = outputs_of(subject.model(*inputs))
    seen: Seen = {"draws_random": _random_state() != drawn}
    seen["shares_memory"] = _sharing(result, inputs, subject.model)
    subject.base = clones(result)
    seen["changed_inputs"] = [
        position
        for position, (now, before) in enumerate(zip(inputs, subject.inputs, strict=True))
        if isinstance(now, torch.Tensor) and not same(now, before)
    ]
    seen["changed_state"] = _changed(state, _state(subject.model))
    second = subject.run(clones(subject.inputs), reason="fails_second_call")
    seen["second_call_differs"] = not differ.same(second, subject.base)
    seen["changed_attributes"] = _changed(attributes, _attributes(subject.model))
    seen["equals_input"] = [
        position
        for position, value in enumerate(subject.inputs)
        if any(same(value, output) for output in subject.base)
    ]
    seen["digest"] = differ.digest(subject.base)
    seen["uniform_axes"] = [
        [place, axis]
        for place, output in enumerate(subject.base)
        for axis in range(output.dim())
        if _uniform(output, axis)
    ]
    return seen


def training(subject: Subject) -> Seen:
    """One call in training mode, on a copy: does it differ, does it draw random numbers?"""
    drawn = _random_state()
    try:
        model = copied(subject).train()
        result = subject.run(clones(subject.inputs), model=model)
    except ProgramError as error:
        return {"training_fails": error.detail}
    return {
        "training_differs": differ.apart(result, subject.base) > 1e-5,
        "training_draws_random": _random_state() != drawn,
    }


def other_inputs(subject: Subject) -> tuple[Seen, list[list[torch.Tensor]]]:
    """The same weights on other draws: what varies, and the results themselves."""
    results = [subject.run(clones(inputs)) for inputs in subject.others]
    fixed = [
        position
        for position, value in enumerate(subject.inputs)
        if isinstance(value, torch.Tensor)
        and all(same(value, other[position]) for other in subject.others)
    ]
    return {"fixed_inputs": fixed}, results


def each_input(subject: Subject) -> Seen:
    """How far the result moves when one input alone is drawn again."""
    effects = []
    for position, value in enumerate(subject.inputs):
        if not isinstance(value, torch.Tensor):
            continue
        effect = 0.0
        for other in subject.others:
            inputs = clones(subject.inputs)
            drawn = other[position]
            inputs[position] = _moved(value) if same(value, drawn) else drawn.clone()
            with contextlib.suppress(ProgramError):  # e.g. a moved index that is out of range
                effect = max(effect, differ.apart(subject.run(inputs), subject.base))
        effects.append([position, effect])
    return {"input_effects": effects}


def wide_inputs(subject: Subject) -> Seen:
    """Whether the result stays finite for inputs ten times as large, negated, and all zero."""
    changes = {"x10": lambda x: x * 10, "negated": lambda x: -x, "zeros": torch.zeros_like}
    bad = []
    for name, change in changes.items():
        inputs = [
            change(v) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            for v in clones(subject.inputs)
        ]
        with contextlib.suppress(ProgramError):
            if not all(bool(torch.isfinite(out).all()) for out in subject.run(inputs)):
                bad.append(name)
    return {"not_finite_for": bad}


def copied(subject: Subject) -> torch.nn.Module:
    """A second model with the same weights."""
    try:
        return copy.deepcopy(subject.model)
    except (RuntimeError, TypeError, ValueError):  # non-leaf tensors, locks and the like
        return subject.program.model()


def same(one: Any, other: Any) -> bool:
    """Both are tensors, and equal bit for bit but for the sign of zero."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) or differ.same([one], [other])


def _moved(value: torch.Tensor) -> torch.Tensor:
    if value.is_floating_point():
        return value + torch.randn_like(value) * max(differ.rms(value), 1e-3)
    if value.dtype is torch.bool:
        return ~value
    # Indices must stay in range: the same values in another order, or one less where all are equal.
    rolled = value.flatten().roll(1).reshape(value.shape)
    return rolled if not same(rolled, value) else (value - 1).clamp(min=0)


def _uniform(output: torch.Tensor, axis: int) -> bool:
    """All slices along the axis are equal, to rounding relative to the output's own scale."""
    if output.shape[axis] < 2:
        return False
    first, most = output.narrow(axis, 0, 1).double(), 1e-6 * differ.rms(output)
    near = output.narrow(axis, 1, 1).double() - first  # nearly always this one decides
    if not float(near.abs().max()) <= most:
        return False
    return float((output.double() - first).abs().max()) <= most


def _sharing(outputs: list[torch.Tensor], inputs: list[Any], model: torch.nn.Module) -> list[str]:
    owners = {f"input {i}": v for i, v in enumerate(inputs) if isinstance(v, torch.Tensor)}
    owners |= dict(model.named_parameters()) | dict(model.named_buffers())
    held = {value.untyped_storage().data_ptr(): name for name, value in owners.items()}
    return [held[p] for o in outputs if (p := o.untyped_storage().data_ptr()) in held]


def _state(model: torch.nn.Module) -> dict[str, Any]:
    tensors = dict(model.named_parameters()) | dict(model.named_buffers())
    return {name: _mark(value.detach()) for name, value in tensors.items()}


def _mark(value: torch.Tensor) -> tuple[int, str]:
    """Tells whether a tensor has changed: torch counts writes, the bits tell of those it missed."""
    few = value.flatten()[:: max(1, value.numel() // MARKED)]
    return value._version, differ.digest([few])


def _attributes(model: torch.nn.Module) -> dict[str, Any]:
    """What modules keep beside parameters and buffers: numbers by value, the rest by identity."""
    return {
        f"{path}.{name}".lstrip("."): value if isinstance(value, int | float | str) else id(value)
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if not name.startswith("_")
    }


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def _random_state() -> tuple[bytes, Any]:
    return torch.get_rng_state().numpy().tobytes(), random.getstate()
