"""The same computation in float64 and bfloat16, to see how much of the result is rounding."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.tracing.program import ProgramError, clones
from stages.validate.probes.runs import Subject, copied

NARROW = (torch.float32, torch.bfloat16, torch.float16)


def in_precision(subject: Subject, dtype: torch.dtype) -> list[torch.Tensor] | str:
    """The outputs computed in that precision, or why they can't be.

    Inputs and weights hold the same numbers, rounded to the precision. For float64, casts inside
    the program to something narrower are widened: else its own rounding would pass for the truth.
    """
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        model = copied(subject).to(dtype)
        inputs = [
            v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            for v in clones(subject.inputs)
        ]
        if dtype is not torch.float64:
            return subject.run(inputs, model=model)
        with _Widened():
            return subject.run(inputs, model=model)
    except ProgramError as error:
        return error.detail
    finally:
        torch.set_default_dtype(before)


class _Widened(TorchDispatchMode):
    """Every call that asks for a narrow float gets float64."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in NARROW:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)
