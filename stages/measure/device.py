"""The two real machines behind `protocol.Device`: this CPU, and a CUDA GPU."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from . import nvml

FLUSH_LEAST_BYTES = 256 * 2**20
"""Twice the greatest L2 in use (GB200: 126 MiB) and what Triton's do_bench takes."""


SPIN_CYCLES = 1_000_000
"""Half a millisecond of a GPU's clock: long enough to learn how many cycles a millisecond has."""


def compilations() -> int:
    """Frames that dynamo has compiled or tried to compile in this process."""
    # Looked up, not imported: eager readings must not load dynamo.
    import sys

    utils = sys.modules.get("torch._dynamo.utils")
    return int(utils.counters["frames"]["total"]) if utils else 0


class CpuDevice:
    """This machine's CPU, by the clock on the wall, one thread."""

    kind = "cpu"
    torch_device = "cpu"

    def __init__(self, flush_bytes: int = 0) -> None:
        """Takes the buffer to flush with; 0 leaves the caches warm, and the record says so."""
        self.name = cpu_name()
        self.flush_bytes = flush_bytes
        self._buffer = torch.empty(flush_bytes // 8, dtype=torch.int64) if flush_bytes else None

    def flush(self, busy_ms: float) -> None:
        """Writes the buffer; there is no queue in which the host could work ahead."""
        if self._buffer is not None:
            self._buffer.zero_()

    def mark(self) -> int:
        return time.perf_counter_ns()

    def settle(self) -> None:
        """Every call on a CPU is done when it returns."""

    def elapsed_ms(self, start: int, end: int) -> float:
        return (end - start) / 1e6

    def disturbances(self) -> dict[str, int]:
        return {"recompile": compilations()}

    def troubles(self) -> list[str]:
        return []

    def clock_mhz(self) -> float | None:
        return None

    def give_back(self) -> None:
        """The CPU's allocator keeps nothing that others wait for."""

    def reset_peak(self) -> None:
        """The CPU's allocator keeps no peak."""

    def peak_bytes(self) -> int | None:
        return None

    def environment(self) -> dict[str, Any]:
        return {
            **_software(),
            "threads": torch.get_num_threads(),
            "clock": "perf_counter, wall",
            "flush_bytes": self.flush_bytes,
            "cores": os.cpu_count(),
        }

    def state(self) -> dict[str, Any]:
        return {"load": round(os.getloadavg()[0], 2)}


class CudaDevice:
    """The current CUDA device, by events on its stream."""

    kind = "cuda"
    torch_device = "cuda"

    def __init__(self) -> None:
        properties = torch.cuda.get_device_properties(0)
        self.name = properties.name
        self.uuid = str(properties.uuid)
        self.flush_bytes = max(FLUSH_LEAST_BYTES, 2 * properties.L2_cache_size)
        self._properties = properties
        self._buffer = torch.empty(self.flush_bytes // 4, dtype=torch.int32, device="cuda")
        self._watch = nvml.watch(self.uuid)
        self._events: list[torch.cuda.Event] = []
        self._used = 0
        self._flush_ms = self._cycles_per_ms = 0.0  # learnt when first needed, behind the gate

    def _learn(self) -> None:
        self._flush_ms = self._once_ms(self._buffer.zero_)
        self._cycles_per_ms = SPIN_CYCLES / self._once_ms(lambda: torch.cuda._sleep(SPIN_CYCLES))

    def _once_ms(self, work: Callable[[], Any]) -> float:
        """Device time of the second call of some work."""
        work()
        start = self.mark()
        work()
        end = self.mark()
        self.settle()
        return self.elapsed_ms(start, end)

    def flush(self, busy_ms: float) -> None:
        # Writing all of it evicts the L2; spinning after it gives the host the rest of its head start.
        self._buffer.zero_()
        if busy_ms > 0 and not self._cycles_per_ms:
            self._learn()  # the first flush of a run: no mark waits to be read yet
        rest_ms = busy_ms - self._flush_ms
        if busy_ms > 0 and rest_ms > 0:
            torch.cuda._sleep(int(rest_ms * self._cycles_per_ms))

    def mark(self) -> torch.cuda.Event:
        if self._used == len(self._events):
            self._events.append(torch.cuda.Event(enable_timing=True))
        event = self._events[self._used]
        self._used += 1
        event.record()
        return event

    def settle(self) -> None:
        """Waits, and frees the marks: they are read before the next one is made."""
        torch.cuda.synchronize()
        self._used = 0

    def elapsed_ms(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        return float(start.elapsed_time(end))

    def disturbances(self) -> dict[str, int]:
        statistics = torch.cuda.memory_stats()
        return {
            "recompile": compilations(),
            "new_memory": int(statistics.get("num_device_alloc", 0)),
        }

    def troubles(self) -> list[str]:
        return self._watch.troubles()

    def clock_mhz(self) -> float | None:
        return self._watch.clock_mhz()

    def give_back(self) -> None:
        """Unmaps the memory that nothing uses any more."""
        torch.cuda.empty_cache()

    def reset_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self) -> int | None:
        return int(torch.cuda.max_memory_allocated())

    def environment(self) -> dict[str, Any]:
        return {
            **_software(),
            "uuid": self.uuid,
            "compute_capability": f"{self._properties.major}.{self._properties.minor}",
            "multiprocessors": self._properties.multi_processor_count,
            "l2_bytes": self._properties.L2_cache_size,
            "memory_bytes": self._properties.total_memory,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "clock": "CUDA events",
            "flush_bytes": self.flush_bytes,
            "power_limit_mw": self._watch.facts().get("power_limit_mw"),
            "driver": self._watch.facts().get("driver"),
        }

    def state(self) -> dict[str, Any]:
        """What changes from minute to minute."""
        return self._watch.facts()


def cpu_name() -> str:
    """The CPU's own name, as Linux gives it."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _software() -> dict[str, Any]:
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "host_cpu": cpu_name(),
    }
