"""The driver's own view of a GPU, through NVML and the standard library alone.

A driver without NVML is no error: nothing is watched then, and the record says `nvml: false`.
"""

from __future__ import annotations

import ctypes
from typing import Any

# nvml.h, nvmlClocksEventReasons: what slows a GPU down against its will.
_REASONS = {
    0x08: "throttle",  # hardware slowdown
    0x20: "throttle",  # software thermal slowdown
    0x40: "throttle",  # hardware thermal slowdown
    0x80: "throttle",  # power brake
    0x04: "power_cap",  # software power cap: normal for long matrix products
}
_SM_CLOCK, _MEMORY_CLOCK, _GPU_TEMPERATURE = 1, 2, 0


class Nothing:
    """Stands in where the driver offers no NVML."""

    def troubles(self) -> list[str]:
        return []

    def clock_mhz(self) -> float | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {"nvml": False}


class Watch:
    """One GPU, by UUID."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle = handle

    def troubles(self) -> list[str]:
        mask = self._read("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        return sorted({name for bit, name in _REASONS.items() if (mask or 0) & bit})

    def clock_mhz(self) -> float | None:
        """Of the multiprocessors."""
        return self._read("nvmlDeviceGetClockInfo", ctypes.c_uint, _SM_CLOCK)

    def facts(self) -> dict[str, Any]:
        return {
            "nvml": True,
            "driver": self._driver(),
            "sm_mhz": self.clock_mhz(),
            "memory_mhz": self._read("nvmlDeviceGetClockInfo", ctypes.c_uint, _MEMORY_CLOCK),
            "celsius": self._read("nvmlDeviceGetTemperature", ctypes.c_uint, _GPU_TEMPERATURE),
            "power_mw": self._read("nvmlDeviceGetPowerUsage", ctypes.c_uint),
            "power_limit_mw": self._read("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint),
        }

    def _read(self, function: str, kind: type[Any], *arguments: int) -> int | None:
        value = kind()
        status = getattr(self._library, function)(self._handle, *arguments, ctypes.byref(value))
        return int(value.value) if status == 0 else None

    def _driver(self) -> str:
        text = ctypes.create_string_buffer(80)
        self._library.nvmlSystemGetDriverVersion(text, ctypes.c_uint(80))
        return text.value.decode(errors="replace")


def watch(uuid: str) -> Watch | Nothing:
    """The GPU with this UUID, or `Nothing` where NVML or the GPU can't be reached."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return Nothing()
    handle = ctypes.c_void_p()
    name = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    if library.nvmlInit_v2() != 0:
        return Nothing()
    if library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle)) != 0:
        return Nothing()
    return Watch(library, handle)


def gpus() -> list[dict[str, Any]]:
    """uuid, name and memory_bytes of each GPU of the machine; empty without NVML."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return []
    count = ctypes.c_uint()
    if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return []
    return [_describe(library, index) for index in range(count.value)]


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


def _describe(library: ctypes.CDLL, index: int) -> dict[str, Any]:
    handle, memory = ctypes.c_void_p(), _Memory()
    name, uuid = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
    library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle))
    library.nvmlDeviceGetName(handle, name, ctypes.c_uint(96))
    library.nvmlDeviceGetUUID(handle, uuid, ctypes.c_uint(96))
    library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    return {
        "uuid": uuid.value.decode(),
        "name": name.value.decode(),
        "memory_bytes": int(memory.total),
        "used_bytes": int(memory.used),
    }
