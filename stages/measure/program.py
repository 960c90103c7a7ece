"""From a program's text to a model and inputs on a device."""

from __future__ import annotations

import linecache
import random
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

SEED = 42
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class Loaded:
    """A model and its inputs, ready to be called."""

    model: torch.nn.Module
    inputs: list[Any]
    inputs_made_on: str

    def fresh(self) -> list[Any]:
        """Clones of the inputs that share nothing with them."""
        return [_clone(value) for value in self.inputs]


@dataclass
class Built:
    """A program that was executed and whose model exists, on the CPU."""

    module: types.ModuleType
    model: torch.nn.Module


def build(code: str) -> Built:
    """Executes the program and builds its model on the CPU, as its author's users do."""
    module = _execute(code)
    seed()
    return Built(module, module.Model(*module.get_init_inputs()).eval())


def place(built: Built, device: str, dtype: str) -> Loaded:
    """Moves the model to the device and makes the inputs.

    Inputs are drawn on the device, where the same distribution costs microseconds. A program that
    can't do that (it goes through numpy, say) gets them from the CPU. Only floating-point values
    change their dtype.
    """
    model = built.model.to(device=device, dtype=DTYPES[dtype])
    _move_plain_tensors(model, device, DTYPES[dtype])
    inputs, made_on = _inputs(built.module, device)
    moved = [_move(value, device, DTYPES[dtype]) for value in inputs]
    return Loaded(model, moved, made_on)


def seed() -> None:
    random.seed(SEED)
    torch.manual_seed(SEED)


def tensors(output: Any) -> list[torch.Tensor]:
    """All tensors of an output, in order; other values don't count."""
    return [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor)]


def copied(output: Any) -> list[torch.Tensor]:
    """The output's tensors as they are now."""
    return [tensor.detach().clone() for tensor in tensors(output)]


@dataclass(frozen=True)
class Difference:
    """How far two outputs lie apart."""

    worst: float  # greatest difference, in units of what is allowed
    share: float  # of elements that differ by more than is allowed


@dataclass(frozen=True)
class Tolerance:
    """How far two outputs may lie apart: atol + rtol * |expected|, element by element.

    A few elements may lie further: where a program compares or rounds, another order of summation
    sends elements that were on the edge to the other side, and both results are right.
    """

    atol: float
    rtol: float
    few: float = 0.0

    def agrees(self, difference: Difference) -> bool:
        return difference.share <= self.few

    def difference(self, got: Any, expected: Sequence[torch.Tensor]) -> Difference:
        """Worst element and share of differing ones; everything differs if the shapes do."""
        mine = tensors(got)
        if [t.shape for t in mine] != [t.shape for t in expected]:
            return Difference(float("inf"), 1.0)
        worst = share = 0.0
        for a, b in zip(mine, expected, strict=True):
            if a.numel() == 0:
                continue
            units = self._units(a, b)
            worst = max(worst, float(units.max()))
            share = max(share, float((units > 1).float().mean()))
        return Difference(worst, share)

    def _units(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        same = (a == b) | (torch.isnan(a) & torch.isnan(b))  # infinities of one sign are equal
        if not (a.is_floating_point() or a.is_complex()):
            return torch.where(same, 0.0, float("inf"))
        allowed = self.atol + self.rtol * b.abs().float()
        units = torch.where(same, 0.0, (a - b).abs().float() / allowed)
        return torch.nan_to_num(units, nan=float("inf"))


def tolerance(
    dtype: str, atol: float | None, rtol: float | None, scale: float, *, tf32: bool = False
) -> Tolerance:
    """The row's tolerance in fp32; in fewer bits at least what the format itself can hold.

    Args:
        dtype: the dtype measured.
        atol: the row's, or None to derive it from `scale`.
        rtol: the row's, or None.
        scale: root mean square of the expected output.
        tf32: whether products and convolutions read their operands with TF32's ten bits, as float16
            has: two algorithms for one convolution then differ by more than float32 would allow.
    """
    narrow = "float16" if tf32 else dtype
    least, few = {"float32": (1e-4, 1e-4), "bfloat16": (2e-2, 1e-2), "float16": (2e-3, 1e-2)}[
        narrow
    ]
    return Tolerance(max(atol or 0.0, least * scale, 1e-12), max(rtol or 0.0, least), few)


def scale_of(outputs: Sequence[torch.Tensor]) -> float:
    """Root mean square of the first floating output; 1 where there is none."""
    for tensor in outputs:
        if tensor.is_floating_point() and tensor.numel():
            value = float(tensor.float().square().mean().sqrt())
            return value if value == value else 1.0
    return 1.0


def _execute(code: str) -> types.ModuleType:
    name = "measured_program"
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    sys.modules[name] = module  # dataclasses look their module up
    linecache.cache[module.__file__] = (len(code), None, code.splitlines(True), module.__file__)
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    return module


def _inputs(module: types.ModuleType, device: str) -> tuple[list[Any], str]:
    if device != "cpu":
        try:
            seed()
            with torch.device(device):
                return list(module.get_inputs()), device
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            torch.cuda.synchronize()  # raises again if the device itself is lost
    seed()
    return list(module.get_inputs()), "cpu"


def _move_plain_tensors(model: torch.nn.Module, device: str, dtype: torch.dtype) -> None:
    """Tensors that an author keeps as plain attributes, which `Module.to` doesn't know."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                setattr(module, name, _move(value, device, dtype))


def _move(value: Any, device: str, dtype: torch.dtype) -> Any:
    def one(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.to(device=device, dtype=dtype if leaf.is_floating_point() else leaf.dtype)

    return pytree.tree_map(one, value)


def _clone(value: Any) -> Any:
    return pytree.tree_map(
        lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, value
    )
