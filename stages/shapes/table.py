"""data/shapes/sizes.toml, read: roles by name, sizes of real models, settings and devices."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A named wish."""

    name: str
    reason: str
    ms: float
    width: int
    sequence: int
    spatial: int
    vocabulary: int
    batch: int | None = None
    least_batch: int = 1
    batch_unit: int = 1  # the batch is this times a power of two
    odd: bool = False
    held_out: bool = False


@dataclass(frozen=True)
class Target:
    """A device, as far as an estimate needs it."""

    matrix_flops_per_s: float
    other_flops_per_s: float
    bytes_per_s: float
    least_ms: float
    most_ms: float
    cache_bytes: int
    most_working_set: int
    scale: float

    def milliseconds(self, flops: int, flops_matrix: int, moved: int) -> float:
        """By roofline: the slowest of matrix units, vector units and memory."""
        seconds = (
            flops_matrix / self.matrix_flops_per_s,
            (flops - flops_matrix) / self.other_flops_per_s,
            moved / self.bytes_per_s,
        )
        return 1e3 * max(seconds)


@dataclass(frozen=True)
class Table:
    words: Mapping[str, str]  # word of a name → role
    kinds: Mapping[str, str]  # role → data, width, vocabulary or fixed
    real: Mapping[str, tuple[int, ...]]  # widths, sequences, spatials, vocabularies
    settings: tuple[Setting, ...]
    targets: Mapping[str, Target]


@cache
def read_table(path: Path) -> Table:
    raw: dict[str, Any] = tomllib.loads(path.read_text())
    real = {
        kind: tuple(sorted(entry["value"] for entry in raw[kind]))
        for kind in ("widths", "sequences", "spatials", "vocabularies")
    }
    return Table(
        words={word: role for role, r in raw["roles"].items() for word in r["words"]},
        kinds={role: r["kind"] for role, r in raw["roles"].items()},
        real=real,
        settings=tuple(Setting(name=name, **s) for name, s in raw["settings"].items()),
        targets={name: Target(**t) for name, t in raw["targets"].items()},
    )
