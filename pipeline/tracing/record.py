"""One recorded forward, of real tensors or of fakes: with fakes 32768 x 32768 costs nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    unset_fake_temporarily,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.tracing.program import ProgramError, blamed, outputs_of
from pipeline.tracing.tape import MOST_CALLS, Tape, recording

NEEDS_DATA = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
)

Settle = Callable[[torch.nn.Module], torch.nn.Module]
"""Gives a model that was made of real tensors as one of the kind that is made here."""


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
def faking() -> Iterator[Settle]:
    """Every tensor made inside is a fake: a shape and a type without content.

    Raises:
        ProgramError: `needs_data` where the program can't do without the content of a tensor.
    """
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            yield lambda model: model._apply(mode.from_tensor)
        except ProgramError as error:
            if isinstance(error.__cause__, NEEDS_DATA):
                raise ProgramError("needs_data", error.detail) from error
            raise


@contextmanager
def on_meta() -> Iterator[Settle]:
    """Every tensor made inside is on torch's device without memory: quicker than a fake, on no CPU."""
    with torch.device("meta"), _AsOnCpu():
        yield lambda model: model.to("meta")


@contextmanager
def for_real() -> Iterator[None]:
    """Inside one of the two above: tensors with content after all, only that weights are not drawn."""
    with unset_fake_temporarily(), torch.device("cpu"), _NotDrawn():
        yield


class _NotDrawn(TorchFunctionMode):  # type: ignore[misc]
    """Leaves random weights as the memory was: most of the time of making a large model."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return args[0] if func in _DRAWING else func(*args, **(kwargs or {}))


_DRAWING = frozenset([torch.Tensor.uniform_, torch.Tensor.normal_, torch.Tensor.erfinv_])


class _AsOnCpu(TorchDispatchMode):  # type: ignore[misc]  # torch is not typed for mypy here
    """A batch norm in evaluation gives no statistics on a CPU, and such of full size on `meta`."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.native_batch_norm.default and not args[5]:
            return (result[0], *(statistic.new_empty(0) for statistic in result[1:]))
        return result
