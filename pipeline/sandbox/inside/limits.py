"""How much one run may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What one request may use; each bound has its own `Fault.reason`."""

    wall_s: float = 30.0
    """Seconds by the clock for `handle` (and again for `judge`): `timeout`."""
    cpu_s: int = 20
    """CPU seconds of one process, all its threads together: `cpu_limit`."""
    memory_mb: int = 6144
    """MiB of address space of one process, and of memory of all its processes: `memory_limit`."""
    file_mb: int = 64
    """MiB of one file; where the sandbox makes its own namespaces, of all files together."""
    processes: int = 64
    """Processes and threads alive at once. Forking fails beyond it; there is no reason for it."""
    output_kb: int = 64
    """KiB of stdout and stderr kept; 256 times as much is a flood: `output_limit`."""
    threads: int = 1
    """Threads that torch uses for one operator."""
    allow_exec: bool = False
    """Whether other programs may be started (a compiler, for a stage that needs one)."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name != "allow_exec" and value <= 0:
                raise ValueError(f"Limits.{name} must be positive, not {value!r}")

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Limits:
        """Gives the limits back that `asdict` took apart."""
        return cls(**fields)
