"""Random numbers for guesses: a block drawn once, laid out again and again.

A guess only has to run; that its numbers look random is enough. Drawing them anew took a sixth of
the search, since each guess builds its model again. The finished program is verified with its own.
"""

import math
from typing import Any

import torch

_LARGE = 1 << 14
"""Elements from which a block is cheaper than drawing."""
_UNIFORM = torch.rand(1 << 16, generator=torch.Generator().manual_seed(0))
_NORMAL = torch.randn(1 << 16, generator=torch.Generator().manual_seed(0))

_BY_FAN_IN = frozenset(
    {"kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "orthogonal_"}
)
_BY_SPREAD = frozenset({"normal_", "trunc_normal_"})
_FILLING = _BY_FAN_IN | _BY_SPREAD | {"uniform_"}


def normal(dims: tuple[int, ...]) -> torch.Tensor:
    """Like torch.randn."""
    count = math.prod(dims)
    if count < _LARGE:
        return torch.randn(dims)
    drawn = torch.empty(dims)
    _lay(_NORMAL, drawn)
    return drawn


def fill(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
    """Fills a large float32 tensor as the function `name`, in torch.nn.init or of a tensor, would.

    Returns:
        The tensor; None if the call has to be made as it is.
    """
    if name not in _FILLING:  # first, since every call into torch comes by here
        return None
    target = args[0] if args else kwargs.get("tensor")
    if not isinstance(target, torch.Tensor) or target.dtype != torch.float32:
        return None
    if target.numel() < _LARGE or target.device.type != "cpu" or not target.is_contiguous():
        return None
    if name == "uniform_":
        low, high = _numbers(args, kwargs, ("from", "a"), ("to", "b"))
        block = low + (high - low) * _UNIFORM
    elif name in _BY_SPREAD:
        mean, std = _numbers(args, kwargs, ("mean",), ("std",))
        block = mean + std * _NORMAL
    elif target.dim() > 1:
        block = _NORMAL / math.sqrt(target.numel() // target.shape[0])
    else:
        return None
    with torch.no_grad():
        _lay(block, target)
    return target


def _lay(block: torch.Tensor, target: torch.Tensor) -> None:
    """Writes the block into a contiguous tensor, again and again."""
    flat = target.view(-1)
    whole = flat.numel() // block.numel() * block.numel()
    flat[:whole].view(-1, block.numel()).copy_(block)
    flat[whole:].copy_(block[: flat.numel() - whole])


def _numbers(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    first: tuple[str, ...],
    second: tuple[str, ...],
) -> tuple[float, float]:
    """The two parameters of a distribution, 0 and 1 if not given, wherever they stand in a call."""
    given = args[1:3]
    found = [*given, *(0.0, 1.0)[len(given) :]]
    for place, names in enumerate((first, second)):
        for name in names:
            found[place] = kwargs.get(name, found[place])
    return float(found[0]), float(found[1])
