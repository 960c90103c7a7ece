"""A problem's measured times, and the choice of the one that a speedup is relative to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelset.errors import MissingBaseline
from kernelset.shape import Shape
from pipeline.errors import UsageError

OK = "ok"  # any other status has no median: see schemas/baseline.py


@dataclass(frozen=True)
class Baseline:
    """One measured time of one shape on one named device; see schemas/baseline.py."""

    shape_id: str
    mode: str  # eager, inductor or inductor-max-autotune
    device: str  # the device's own name
    device_kind: str  # cuda or cpu
    dtype: str
    tf32: bool
    status: str
    reasons: Sequence[str]
    median_ms: float | None  # None unless the status is ok
    raw_ms: Sequence[float]
    relative_range: float | None
    floor_ms: float | None  # speed of light by roofline, None where the device's peaks are unknown
    headroom: float | None  # median_ms / floor_ms
    intensity: float | None  # flop per byte
    bound: str | None  # memory, compute or launch
    protocol: str | None
    environment: str | None  # JSON: torch, triton, driver, threads, …

    @property
    def seconds(self) -> float:
        """The median.

        Raises:
            MissingBaseline: the status is not ok.
        """
        if self.status != OK or self.median_ms is None:
            raise MissingBaseline(f"{self}: its status is {self.status!r}, so there is no time")
        return self.median_ms / 1e3

    def __str__(self) -> str:
        precision = "tf32" if self.tf32 else self.dtype
        return f"{self.mode} {precision} on {self.device}"


def read_baseline(row: Mapping[str, Any]) -> Baseline:
    """A baseline from its struct in the column `baselines`."""
    return Baseline(**{name: row[name] for name in Baseline.__dataclass_fields__})


def choose(
    baselines: Sequence[Baseline],
    *,
    device: str,
    shape: Shape,
    mode: str,
    dtype: str,
    tf32: bool,
    whose: str,
) -> Baseline:
    """The one usable baseline for these.

    Args:
        device: part of the device's name in any case ("h200"), or its kind ("cuda", "cpu").
        whose: names the problem in errors.

    Raises:
        MissingBaseline: there is none, or its measurement was not accepted.
        UsageError: `device` fits several devices.
    """
    here = [one for one in baselines if fits(one.device, one.device_kind, device)]
    names = sorted({one.device for one in here})
    if len(names) > 1:
        raise UsageError(f"{whose}: {device!r} fits several devices; name one: {', '.join(names)}")
    wanted = f"no {mode} {'tf32' if tf32 else dtype} baseline on {device} at shape {shape}"
    found = [
        one
        for one in here
        if (one.shape_id, one.mode, one.dtype, one.tf32) == (shape.shape_id, mode, dtype, tf32)
    ]
    usable = [one for one in found if one.status == OK]
    if usable:
        return usable[0]
    if found:
        raise MissingBaseline(f"{whose}: {wanted}: it was measured, but is {found[0].status!r}")
    at_shape = [one for one in baselines if one.shape_id == shape.shape_id and one.status == OK]
    there = ", ".join(sorted({str(one) for one in at_shape})) or "nothing"
    raise MissingBaseline(f"{whose}: {wanted}; at this shape there is: {there}")


def fits(name: str, kind: str, wanted: str) -> bool:
    """Whether a device is meant by `wanted`: part of its name in any case, or its kind."""
    return wanted.lower() == kind or wanted.lower() in name.lower()
