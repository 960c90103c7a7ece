"""What a result must not depend on. Another server with other surroundings shows whether it does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Surroundings:
    """Of a fork server and of all its runs."""

    hash_seed: int = 0
    """PYTHONHASHSEED: `hash("x")` and the order of a set of strings."""
    soiled_memory: bool = False
    """Whether new memory is filled with bytes 0x7F (in float32: 3.4e38). Else it holds what was there
    before, mostly zeros, and the same in every fork: `torch.empty` then passes for a number."""

    def environment(self) -> dict[str, str]:
        """Gives the variables that make the server's process so."""
        # glibc fills with the complement of the number
        soil = {"MALLOC_PERTURB_": str(0x7F ^ 0xFF)} if self.soiled_memory else {}
        return {"PYTHONHASHSEED": str(self.hash_seed)} | soil
