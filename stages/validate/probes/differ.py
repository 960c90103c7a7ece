"""How far two results are apart, relative to their own scale."""

import hashlib
import math

import torch

Tensors = list[torch.Tensor]
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes


def apart(new: Tensors, base: Tensors) -> float:
    """Root mean square of the difference over that of `base`; inf where one isn't a number.

    For whole numbers and booleans, the share of elements that differ. The largest over outputs.
    """
    if [t.shape for t in new] != [t.shape for t in base]:
        return math.inf
    return max(_one_apart(a, b) for a, b in zip(new, base, strict=True))


def rms(value: torch.Tensor) -> float:
    real = value if value.is_floating_point() else value.double()
    # One pass and no copy, which a mean of squares in float64 would need two of.
    norm = torch.linalg.vector_norm(real, dtype=torch.float64)
    return float(norm) / math.sqrt(value.numel()) if value.numel() else math.nan


def same(one: Tensors, other: Tensors) -> bool:
    """Bit for bit, so that NaN equals itself; shapes and types too."""
    return len(one) == len(other) and all(map(_same_bits, one, other))


def digest(values: Tensors) -> str:
    """sha256 of bits, shapes and types."""
    state = hashlib.sha256()
    for value in values:
        state.update(f"{value.dtype}{list(value.shape)}".encode())
        flat = value.detach().contiguous().reshape(-1)
        state.update(memoryview(flat.view(torch.uint8).numpy()))
    return state.hexdigest()


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    word = WORDS[one.element_size()]
    return torch.equal(one.detach().view(word), other.detach().view(word))


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
