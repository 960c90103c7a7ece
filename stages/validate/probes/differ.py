"""How far two results are apart, relative to their own scale."""

import hashlib
import math

import torch

Tensors = list[torch.Tensor]


def apart(new: Tensors, base: Tensors) -> float:
    """Root mean square of the difference over that of `base`; inf where one isn't a number.

    For whole numbers and booleans, the share of elements that differ. The largest over outputs.
    """
    if [t.shape for t in new] != [t.shape for t in base]:
        return math.inf
    return max(_one_apart(a, b) for a, b in zip(new, base, strict=True))


def rms(value: torch.Tensor) -> float:
    return float(value.double().square().mean().sqrt())


def digest(values: Tensors) -> str:
    """sha256 of bits, shapes and types."""
    state = hashlib.sha256()
    for value in values:
        state.update(f"{value.dtype}{list(value.shape)}".encode())
        flat = value.detach().contiguous().reshape(-1)
        state.update(memoryview(flat.view(torch.uint8).numpy()))
    return state.hexdigest()


def _one_apart(new: torch.Tensor, base: torch.Tensor) -> float:
    if torch.equal(new, base):
        return 0.0
    if not base.is_floating_point():
        return float((new != base).double().mean())
    difference = rms(new.double() - base.double())
    if math.isnan(difference):
        return math.inf
    scale = rms(base)
    return difference / scale if scale > 0 else math.inf
