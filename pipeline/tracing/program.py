"""A program as a living thing: load its text, construct its Model, draw its inputs."""

import random
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch

MODULE_NAME = "problem"
Forward = Callable[..., Any]


class ProgramError(Exception):
    """The program is at fault. `reason` is the code for the ledger."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Program:
    """One loaded program.

    Raises:
        ProgramError: `does_not_load` or `incomplete_program`.
    """

    def __init__(self, code: str) -> None:
        self._module = types.ModuleType(MODULE_NAME)
        # Dataclasses with string annotations look their own module up by name.
        sys.modules[MODULE_NAME] = self._module
        with blamed("does_not_load"):
            exec(compile(code, "problem.py", "exec"), self._module.__dict__)
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(getattr(self._module, name, None)):
                raise ProgramError("incomplete_program", f"no {name}")

    def model(self, seed: int = 0) -> torch.nn.Module:
        """A fresh Model in eval mode: equal seeds give equal weights.

        Raises:
            ProgramError: `does_not_construct`.
        """
        sow(seed)
        with blamed("does_not_construct"):
            arguments = self._module.get_init_inputs()
            if len(arguments) == 2 and isinstance(arguments[1], dict):
                # KernelBook's convention: [positional, named]
                model = self._module.Model(*arguments[0], **arguments[1])
            else:
                model = self._module.Model(*arguments)
        if not isinstance(model, torch.nn.Module):
            raise ProgramError("does_not_construct", f"Model gave a {type(model).__name__}")
        return model.eval()

    def inputs(self, seed: int = 1) -> list[Any]:
        """What get_inputs gives: tensors, and perhaps plain numbers.

        Raises:
            ProgramError: `inputs_fail`, or `bad_inputs` for anything but a list of tensors.
        """
        sow(seed)
        with blamed("inputs_fail"):
            inputs = self._module.get_inputs()
        if not isinstance(inputs, list | tuple):
            raise ProgramError("bad_inputs", f"get_inputs gives a {type(inputs).__name__}")
        for position, value in enumerate(inputs):
            if not isinstance(value, torch.Tensor | int | float | bool | None):
                name = type(value).__name__
                raise ProgramError("bad_inputs", f"input {position} is a {name}, not a tensor")
            if isinstance(value, torch.Tensor):
                _check_input(position, value)
        if not any(isinstance(value, torch.Tensor) for value in inputs):
            raise ProgramError("bad_inputs", "get_inputs gives no tensor")
        return list(inputs)


def outputs_of(value: Any) -> list[torch.Tensor]:
    """The tensors of a forward's result: one tensor, or a flat tuple or list of tensors.

    Raises:
        ProgramError: one of the `output_…` reasons.
    """
    parts = list(value) if isinstance(value, tuple | list) else [value]
    if not parts:
        raise ProgramError("output_not_tensor", "forward gives an empty tuple")
    for part in parts:
        if isinstance(part, tuple | list):
            raise ProgramError("output_nested", "forward gives nested tuples")
        if not isinstance(part, torch.Tensor):
            raise ProgramError("output_not_tensor", f"forward gives a {type(part).__name__}")
        _check_output(part)
    return parts


def clones(values: Iterable[Any]) -> list[Any]:
    return [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values]


def sow(seed: int) -> None:
    """Sets every seed that a program of the standard library and torch can draw from."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed also queues seeds for GPUs: 4 ms


class blamed:
    """Turns whatever crawled code raises inside the block into a ProgramError."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, ProgramError | KeyboardInterrupt):
            return
        line = f"{type(error).__name__}: {error}".split("\n")[0][:300]
        reason = "memory_limit" if ran_out(error) else self._reason
        if type(error).__name__ == "TooManyCalls":
            reason = "too_many_ops"
        raise ProgramError(reason, line) from error


def ran_out(error: BaseException) -> bool:
    """Whether an allocation failed: Python and torch say it differently."""
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or "DefaultCPUAllocator" in text
        or "can't allocate memory" in text
        or "Storage size calculation overflowed" in text
    )


def _check_input(position: int, value: torch.Tensor) -> None:
    if value.layout is not torch.strided:
        raise ProgramError("bad_inputs", f"input {position} is sparse")
    if value.is_complex():
        raise ProgramError("bad_inputs", f"input {position} is complex")
    if value.numel() == 0:
        raise ProgramError("input_empty", f"input {position} has shape {list(value.shape)}")


def _check_output(value: torch.Tensor) -> None:
    if type(value) not in (torch.Tensor, torch.nn.Parameter, _fake_tensor()):
        raise ProgramError("output_not_tensor", f"forward gives a {type(value).__name__}")
    if value.layout is not torch.strided:
        raise ProgramError("output_sparse", str(value.layout))
    if value.is_complex():
        raise ProgramError("output_complex", str(value.dtype))
    if value.numel() == 0:
        raise ProgramError("output_empty", str(list(value.shape)))


def _fake_tensor() -> Any:
    from torch._subclasses.fake_tensor import FakeTensor

    return FakeTensor
