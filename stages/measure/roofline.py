"""Speed of light: the least time in which a device could do a problem's least work.

    floor = max(flops / peak, bytes / bandwidth, one launch)

What it is made of: products run at the peak of the units that are allowed to do them (float32
without TF32 never reaches the tensor cores), everything else at the float32 peak. The bound is for
the formula as written; a candidate that beats it has found an algebraic short cut or a bug in its
checker, a reference that beats it has found a bug of ours (`below_floor`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NO_HEADROOM = 1.15  # fastest baseline within 15 % of the floor: nothing is left to win
SUSPICIOUS = 50.0  # fastest baseline 50 times the floor: an inefficient reference, look at it
BELOW = 0.9  # a reference below 0.9 of its floor: our count is wrong, or dead code was dropped
LAUNCH_BOUND = 0.8  # the host needs this share of back-to-back calls to hand them out


@dataclass(frozen=True)
class Peaks:
    """What a device can do; the fields are those of data/devices.toml."""

    name: str
    float32: float
    tf32: float
    bfloat16: float
    bandwidth: float
    launch_us: float
    source: str

    def tflops(self, dtype: str, tf32: bool) -> float:
        """Peak of products in this dtype, in TFLOP/s."""
        if dtype in ("bfloat16", "float16"):
            return self.bfloat16
        return self.tf32 if tf32 else self.float32


@dataclass(frozen=True)
class Floor:
    """The least time, and what it is made of."""

    floor_ms: float
    intensity: float | None
    bound: str

    def headroom(self, median_ms: float | None) -> float | None:
        return median_ms / self.floor_ms if median_ms is not None else None


def floor(
    peaks: Peaks, flops_matmul: int, flops_other: int, bytes_min: int, dtype: str, tf32: bool
) -> Floor:
    """Speed of light for this work on this device."""
    compute_ms = (
        flops_matmul / peaks.tflops(dtype, tf32) + flops_other / peaks.float32
    ) / 1e9  # flop / (TFLOP/s) = 1e-12 s
    memory_ms = bytes_min / peaks.bandwidth / 1e6
    launch_ms = peaks.launch_us / 1e3
    bound = max(("memory", memory_ms), ("compute", compute_ms), ("launch", launch_ms), key=_time)
    intensity = (flops_matmul + flops_other) / bytes_min if bytes_min else None
    return Floor(bound[1], intensity, bound[0])


def peaks_of(device: str, table: Path) -> Peaks | None:
    """The device's row: the longest name that `device` begins with; None if it has none."""
    known = [peaks for peaks in _read(table) if device.startswith(peaks.name)]
    return max(known, key=lambda peaks: len(peaks.name), default=None)


@cache
def _read(table: Path) -> tuple[Peaks, ...]:
    rows = tomllib.loads(table.read_text("utf-8"))["device"]
    return tuple(Peaks(**row) for row in rows)


def _time(pair: tuple[str, float]) -> float:
    return pair[1]
