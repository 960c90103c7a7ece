"""How a time is taken. One file, so that one person can read it and believe the numbers.

What one reading is
    1. One probe call, to learn how long a call takes.
    2. Warm-up: at least `warm_calls` calls and `warm_ms` of device time or `warm_most` calls, until
       the medians of the last two groups of three differ by less than `settled`; at most
       `warm_cap_ms`.
    3. A block of `runs` timed runs (5). A run is k calls; before each call the caches are
       flushed, and the flush lies outside the timed window. While it lasts, and at least half as
       long again as the host needed to hand out a call, the host works ahead, so that the window
       holds the device's time and no waiting for launches (at most `head_start_ms`; a call that
       is bound by its launches is flagged, see `host_share`). A run's value is the median of its k
       calls. k is chosen so that a run holds at least `run_ms` of device time, and recorded; k = 1
       is exactly "5 timed calls". Inputs are cloned before each run, outside the window.
    4. The block is judged (see `judge`). A rejected block is repeated, at most `retries` times
       (bounded: a device that is never quiet must not be measured for ever); the block of least
       spread is kept and all blocks are recorded.
    5. The output of the very last timed call is compared with the expected one.

What is reported: the median of the block, all raw values, every block, k, and reasons. A reading
that was not accepted has a status and no median.

What can be said about 5 runs: if they are independent, the true median lies between the least and
the greatest with probability 1 - 2 * (1/2)^5 = 93.75 %. The sample median stays within the good
runs if at most two of five are bad; the mean has no such protection, so it is never used.

The device stands behind a small interface: CPU, CUDA, and in tests one with a scripted clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from time import perf_counter
from typing import Any, Protocol

VERSION = "2"  # 2: the host has a head start; too small is told before noisy
"""Bump when a reading would come out differently; results of other versions are not merged."""

Calls = Callable[[int], "tuple[list[float], Any]"]
"""So many timed calls on fresh inputs: their times, and the last output."""

OK = "ok"
NOISY = "noisy"
TOO_SMALL = "too_small"
TOO_SLOW = "too_slow"
CHANGED_OUTPUT = "mismatch"


@dataclass(frozen=True)
class Rules:
    """Every number of the protocol. Times are milliseconds."""

    runs: int = 5
    warm_calls: int = 3
    warm_ms: float = 50.0
    warm_most: int = 300
    warm_cap_ms: float = 1000.0
    settled: float = 0.02
    head_start_ms: float = 20.0
    run_ms: float = 5.0
    max_inner: int = 200
    retries: int = 5
    spread: float = 0.05  # (max - min) / median above this: noise
    spread_short: float = 0.10  # the same for calls under `short_ms`
    short_ms: float = 0.1
    drift: float = 0.03  # last / first - 1 above this: again; twice in one direction: drift
    smallest_ms: float = 0.02  # below: the clock and the launch are what is measured
    slowest_ms: float = 60_000.0  # a single call above this is not timed
    clock_mhz: float = 0.0  # the SM clock while the last canary copied; 0: not known
    clock_off: float = 0.05  # a block's clock this far below it: again


GPU_RULES = Rules()

# A CPU shared with other work is never as quiet as a GPU: wide limits, and a short reading,
# because `local` measures hundreds of problems in minutes. The verdict says what was applied.
CPU_RULES = Rules(
    warm_calls=2,
    warm_ms=1.0,
    warm_cap_ms=30.0,
    settled=0.1,
    head_start_ms=0.0,
    run_ms=4.0,
    max_inner=40,
    retries=2,
    spread=1.0,
    spread_short=1.0,
    drift=0.5,
    smallest_ms=0.0,
    slowest_ms=3000.0,
)


class Device(Protocol):
    """What the protocol needs from a machine."""

    def flush(self, busy_ms: float) -> None:
        """Evicts the caches, and keeps the device busy for so long, in which the host works ahead."""

    def mark(self) -> Any:
        """A point in the device's own time."""

    def settle(self) -> None:
        """Waits until all work that was handed to the device is done."""

    def elapsed_ms(self, start: Any, end: Any) -> float:
        """Between two marks; only after `settle`."""

    def disturbances(self) -> dict[str, int]:
        """Counters that must stand still in a window: compilations, new memory segments."""

    def troubles(self) -> list[str]:
        """What the device itself complains of since last asked, e.g. `throttle`, `power_cap`."""

    def clock_mhz(self) -> float | None:
        """How fast its processors run right now; None where the device doesn't say."""


@dataclass(frozen=True)
class Block:
    """One block of timed runs and what was wrong with it."""

    raw_ms: list[float]
    faults: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def spread(self) -> float:
        return relative_range(self.raw_ms)

    @property
    def move(self) -> float:
        """How far the last run lies above the first."""
        return self.raw_ms[-1] / max(self.raw_ms[0], 1e-9) - 1


@dataclass(frozen=True)
class Reading:
    """The verdict. `median_ms` is None unless the status is `ok`."""

    status: str
    reasons: list[str]
    median_ms: float | None
    raw_ms: list[float]
    blocks: list[list[float]]
    inner_calls: int
    warm_calls: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    device: Device,
    call: Callable[..., Any],
    fresh: Callable[[], Sequence[Any]],
    agrees: Callable[[Any], bool],
    rules: Rules,
    *,
    each_call: bool = False,
) -> Reading:
    """One reading of `call`.

    Args:
        device: the clock and the caches.
        call: what is timed.
        fresh: new clones of the inputs.
        agrees: whether an output of `call` is the expected one.
        rules: the numbers.
        each_call: whether `call` changes its inputs: they are then cloned before each call.
    """

    calls = _Calls(device, call, fresh, each_call, rules.head_start_ms)
    probe_ms = calls(1)[0][0]
    if probe_ms > rules.slowest_ms:
        return _unfinished(TOO_SLOW, [probe_ms])
    warmed, call_ms = warm_up(calls, rules, probe_ms)
    inner = inner_calls(call_ms, rules)

    blocks: list[Block] = []
    output = None
    for _ in range(1 + rules.retries):
        block, output = _block(device, calls, inner, rules)
        blocks.append(block)
        if not block.faults and abs(block.move) <= rules.drift:
            break
    return judge(blocks, agrees(output), inner, warmed, rules)


def warm_up(calls: Calls, rules: Rules, probe_ms: float) -> tuple[int, float]:
    """Calls until count, time and stability are reached; gives (calls made, recent call time)."""
    times: list[float] = [probe_ms]
    spent = probe_ms
    if spent >= rules.warm_cap_ms:
        return 1, probe_ms
    while True:
        group, _ = calls(3 if probe_ms < rules.warm_cap_ms / 3 else 1)
        times += group
        spent += sum(group)
        enough = len(times) > rules.warm_calls and (
            spent >= rules.warm_ms or len(times) >= rules.warm_most
        )
        if spent >= rules.warm_cap_ms or (enough and _settled(times, rules.settled)):
            return len(times), median(times[-3:])


def inner_calls(call_ms: float, rules: Rules) -> int:
    """Calls per timed run, so that a run holds at least `run_ms`."""
    return min(rules.max_inner, max(1, round(rules.run_ms / max(call_ms, 1e-6) + 0.5)))


def judge(
    blocks: Sequence[Block], same_output: bool, inner: int, warmed: int, rules: Rules
) -> Reading:
    """Accepts or rejects; the reasons say what was seen in any block."""
    quiet = [block for block in blocks if not block.faults]
    best = min(quiet or blocks, key=lambda block: block.spread)
    reasons = sorted({note for block in blocks for note in [*block.faults, *block.notes]})
    if len(blocks) > 1:
        reasons.append("retried")
    value = median(best.raw_ms)
    if not same_output:
        status = CHANGED_OUTPUT
    elif value < rules.smallest_ms:
        status = TOO_SMALL
    elif not quiet or drifts(blocks, rules):
        status = NOISY
        if drifts(blocks, rules):
            reasons.append("drift")
    else:
        status = OK
    return Reading(
        status=status,
        reasons=reasons,
        median_ms=value if status == OK else None,
        raw_ms=best.raw_ms,
        blocks=[block.raw_ms for block in blocks],
        inner_calls=inner,
        warm_calls=warmed,
    )


def drifts(blocks: Sequence[Block], rules: Rules) -> bool:
    """Whether the last two blocks both move in one direction by more than the limit."""
    if len(blocks) < 2:
        return False
    moves = [block.move for block in blocks[-2:]]
    return all(move > rules.drift for move in moves) or all(move < -rules.drift for move in moves)


def relative_range(raw_ms: Sequence[float]) -> float:
    """(greatest - least) / median."""
    return (max(raw_ms) - min(raw_ms)) / max(median(raw_ms), 1e-9)


def _block(device: Device, calls: Calls, inner: int, rules: Rules) -> tuple[Block, Any]:
    device.troubles()  # what happened before is not this block's fault
    before = device.disturbances()
    raw_ms, output = [], None
    clocks_mhz = []
    for _ in range(rules.runs):
        times, output = calls(inner)
        raw_ms.append(median(times))
        clocks_mhz.append(device.clock_mhz() or rules.clock_mhz)
    after = device.disturbances()
    faults = [name for name, count in after.items() if count != before.get(name, 0)]
    notes: list[str] = []
    troubles = device.troubles()
    if "power_cap" not in troubles and median(clocks_mhz) < (1 - rules.clock_off) * rules.clock_mhz:
        faults.append("clock")
    for trouble in troubles:
        # Running into the power limit is how a long GEMM normally runs; it is noted, not cured.
        (notes if trouble == "power_cap" else faults).append(trouble)
    limit = rules.spread_short if median(raw_ms) < rules.short_ms else rules.spread
    if relative_range(raw_ms) > limit:
        faults.append("spread")
    return Block(raw_ms, faults, notes), output


class _Calls:
    """Timed calls on fresh inputs; learns how long the host needs to hand one out."""

    def __init__(
        self,
        device: Device,
        call: Callable[..., Any],
        fresh: Callable[[], Sequence[Any]],
        each_call: bool,
        head_start_ms: float,
    ) -> None:
        self._device, self._call, self._fresh = device, call, fresh
        self._each_call = each_call
        self._most_ms = head_start_ms
        self._busy_ms = 0.0

    def __call__(self, count: int) -> tuple[list[float], Any]:
        inputs = self._fresh()
        self._device.settle()
        marks, output = [], None
        handed_out_ms = []
        for _ in range(count):
            output = None  # frees the last output before the window, not inside it
            if self._each_call and marks:
                inputs = self._fresh()
            self._device.flush(self._busy_ms)
            started = perf_counter()
            start = self._device.mark()
            output = self._call(*inputs)
            marks.append((start, self._device.mark()))
            handed_out_ms.append((perf_counter() - started) * 1e3)
        self._device.settle()
        self._busy_ms = min(self._most_ms, 1.5 * median(handed_out_ms))
        return [self._device.elapsed_ms(start, end) for start, end in marks], output


def _settled(times: Sequence[float], limit: float) -> bool:
    if len(times) < 6:
        return False
    earlier, later = median(times[-6:-3]), median(times[-3:])
    return abs(later / max(earlier, 1e-9) - 1) < limit


def _unfinished(status: str, raw_ms: list[float]) -> Reading:
    return Reading(status, [], None, raw_ms, [raw_ms], 1, 0)
