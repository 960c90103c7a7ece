"""Whether a program has replaced parts of torch. Taken before and after its code runs."""

from typing import Any

import torch
import torch.nn.functional

PLACES: dict[str, Any] = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn.functional": torch.nn.functional,
    "torch.nn": torch.nn,
    "torch.nn.Module": torch.nn.Module,
    "builtins": __builtins__,
}


def snapshot() -> dict[str, int]:
    """The identity of every public callable."""
    taken = {}
    for place, holder in PLACES.items():
        content = holder if isinstance(holder, dict) else vars(holder)
        taken |= {
            f"{place}.{name}": id(value) for name, value in content.items() if callable(value)
        }
    return taken


def replaced(before: dict[str, int]) -> list[str]:
    """Names that are something else now; new names don't count (lazy imports make some)."""
    after = snapshot()
    return sorted(name for name, held in before.items() if after.get(name) != held)
