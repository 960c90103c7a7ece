"""One recorded forward, of real tensors or of fakes: with fakes 32768 x 32768 costs nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

from pipeline.tracing.program import ProgramError, blamed, outputs_of
from pipeline.tracing.tape import MOST_CALLS, Tape, recording

NEEDS_DATA = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
)


def record_forward(model: torch.nn.Module, inputs: list[Any], most_calls: int = MOST_CALLS) -> Tape:
    """The tape of one call. Leaves are named `input.N`, and parameters and buffers by their path.

    Raises:
        ProgramError: `forward_fails`, `too_many_ops`, or one of the `output_…` reasons.
    """
    named = {f"input.{i}": v for i, v in enumerate(inputs) if isinstance(v, torch.Tensor)}
    named |= dict(model.named_parameters()) | dict(model.named_buffers())
    with recording(named, most_calls) as recorder, blamed("forward_fails"):
        result = model(*inputs)
    return recorder.finish(outputs_of(result))


@contextmanager
def faking() -> Iterator[None]:
    """Every tensor made inside is a fake: a shape and a type without content.

    Raises:
        ProgramError: `needs_data` where the program can't do without the content of a tensor.
    """
    with FakeTensorMode(allow_non_fake_inputs=True):
        try:
            yield
        except ProgramError as error:
            if isinstance(error.__cause__, NEEDS_DATA):
                raise ProgramError("needs_data", error.detail) from error
            raise
