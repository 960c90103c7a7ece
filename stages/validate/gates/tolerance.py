"""The tolerance is measured, not assumed; a row whose noise reaches its signal is rejected.

A kernel's result k is accepted where |k - y| <= atol + rtol * |y|, with atol = rtol * rms(y).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stages.validate.gates.verdict import Flag, Gate, Reject, Seen, Verdict

HEADROOM = 16.0  # a kernel may sum in another order and over longer rows than the base shape has
LEAST_RTOL = 1e-4  # KernelBench's own for float32
HEADROOM_BF16 = 2.0
LEAST_RTOL_BF16 = 1e-2  # KernelBench's own for bfloat16
MOST_RTOL_BF16 = 0.2  # and beyond that one in bfloat16 proves nothing: no tolerance is given
MOST_RTOL = 5e-2  # beyond that a comparison in float32 proves little
MOST_NOISE = 1e-2  # rounding over signal


@dataclass(frozen=True)
class Tolerance:
    atol: float
    rtol: float
    atol_bf16: float | None
    rtol_bf16: float | None


def tolerance_of(seen: Seen) -> Tolerance:
    """From the worst errors against float64; the floor alone where there is no float64 run."""
    scale = seen["output_scale"]
    rtol = _rounded(max(LEAST_RTOL, HEADROOM * (seen["worst_error"] or 0.0)))
    coarse = seen["worst_error_bf16"]
    if coarse is None or HEADROOM_BF16 * coarse > MOST_RTOL_BF16:
        return Tolerance(rtol * scale, rtol, None, None)
    rtol_bf16 = _rounded(max(LEAST_RTOL_BF16, HEADROOM_BF16 * coarse))
    return Tolerance(rtol * scale, rtol, rtol_bf16 * scale, rtol_bf16)


def signal_over_noise(seen: Seen) -> Iterator[Verdict]:
    """Rounding stays far below what the result moves by when the inputs change."""
    noise, worst = seen["noise"], seen["worst_error"]
    if noise is None:
        return
    if noise > MOST_NOISE:
        yield Reject("noise_reaches_signal", "", "noise_over_signal", noise, MOST_NOISE)
    elif HEADROOM * worst > MOST_RTOL:
        yield Reject("loose_tolerance", "", "rtol", HEADROOM * worst, MOST_RTOL)


def no_trivial_answer(seen: Seen) -> Iterator[Verdict]:
    """Zeros, ones, the mean, an input, or the output for another input must not be accepted."""
    tolerance = tolerance_of(seen)
    if seen["worst_error_bf16"] is not None and tolerance.rtol_bf16 is None:
        yield Flag("unstable_in_bfloat16")
    for name, needed in seen["trivial"]:
        if needed <= tolerance.rtol:
            yield Reject("trivial_answer_passes", name, "rtol", needed, tolerance.rtol)
        elif tolerance.rtol_bf16 is not None and needed <= tolerance.rtol_bf16:
            yield Flag(f"trivial_in_bfloat16:{name.split('.')[0]}")


def _rounded(value: float) -> float:
    """Up to one significant digit, so that the last bit of a measurement changes nothing."""
    if not math.isfinite(value):
        return value
    digit = 10.0 ** math.floor(math.log10(value))
    return float(f"{math.ceil(value / digit - 1e-9) * digit:.1g}")


GATES = (
    Gate("signal_over_noise", 1, signal_over_noise),
    Gate("no_trivial_answer", 1, no_trivial_answer),
)
