"""One recorded forward, of real tensors or of fakes: with fakes 32768 x 32768 costs nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

from pipeline.tracing.program import Program, ProgramError, blamed, outputs_of
from pipeline.tracing.tape import Tape, recording

NEEDS_DATA = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
)


def record(program: Program, fake: bool) -> Tape:
    """Constructs the program, runs its forward once in eval mode, and gives the tape.

    Raises:
        ProgramError: the program is at fault, or `needs_data` where a fake can't do without the
            content of a tensor.
    """
    if not fake:
        return _record(program)
    with FakeTensorMode(allow_non_fake_inputs=True):
        try:
            return _record(program)
        except ProgramError as error:
            if isinstance(error.__cause__, NEEDS_DATA):
                raise ProgramError("needs_data", error.detail) from error
            raise


def _record(program: Program) -> Tape:
    model = program.model()
    inputs = program.inputs()
    with torch.no_grad():
        return record_forward(model, model, inputs)


def record_forward(
    model: torch.nn.Module, forward: Callable[..., Any], inputs: list[Any]
) -> Tape:
    """The tape of one call. Leaves are named `input.N`, and parameters and buffers by their path."""
    named = {f"input.{i}": v for i, v in enumerate(inputs) if isinstance(v, torch.Tensor)}
    named |= dict(model.named_parameters()) | dict(model.named_buffers())
    with recording(named) as recorder, blamed("forward_fails"):
        result = forward(*inputs)
    return recorder.finish(outputs_of(result))
