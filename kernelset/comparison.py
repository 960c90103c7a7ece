"""Whether a kernel's output is the reference's, by the row's own tolerance."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Tolerance:
    """An element may be off by atol + rtol * |reference|.

    Both were measured when the row was validated: they cover another order of summation, and no
    trivial answer (zeros, the mean, an input) passes.
    """

    atol: float
    rtol: float


def worst_difference(output: Any, reference: Any, tolerance: Tolerance) -> float:
    """The greatest difference of any element, in units of what is allowed there.

    Infinite where count, shape or kind of the tensors differ, or a value is not a number. Whole
    numbers and booleans must be equal. Containers don't count: a list may stand for a tuple.
    """
    from torch.utils import _pytree as pytree

    mine, theirs = pytree.tree_leaves(output), pytree.tree_leaves(reference)
    if len(mine) != len(theirs):
        return float("inf")
    return max(
        (_leaf(a, b, tolerance) for a, b in zip(mine, theirs, strict=True)), default=float("inf")
    )


def _leaf(mine: Any, theirs: Any, tolerance: Tolerance) -> float:
    import torch

    if not isinstance(theirs, torch.Tensor):
        return 0.0 if type(mine) is type(theirs) and mine == theirs else float("inf")
    # A subclass could answer comparisons as it likes, so only plain tensors are looked at.
    if type(mine) not in (torch.Tensor, torch.nn.Parameter):
        return float("inf")
    if mine.shape != theirs.shape or _kind(mine) != _kind(theirs):
        return float("inf")
    if theirs.numel() == 0:
        return 0.0
    return _tensors(mine.detach().to(theirs.device), theirs.detach(), tolerance)


def _tensors(mine: "torch.Tensor", theirs: "torch.Tensor", tolerance: Tolerance) -> float:
    import torch

    if _kind(theirs) == "exact":
        return 0.0 if torch.equal(mine.to(theirs.dtype), theirs) else float("inf")
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    a, b = mine.to(wide), theirs.to(wide)
    units = (a - b).abs() / (tolerance.atol + tolerance.rtol * b.abs())
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))  # infinities of one sign are equal
    return float(torch.nan_to_num(units.masked_fill(same, 0.0), nan=float("inf")).max())


def _kind(tensor: "torch.Tensor") -> str:
    if tensor.is_complex():
        return "complex"
    return "floating" if tensor.is_floating_point() else "exact"
