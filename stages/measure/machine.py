"""Which device this machine measures on; cheap to ask, torch is not imported."""

import ctypes
from pathlib import Path

from pipeline.errors import UsageError


def device_name(wanted: str) -> tuple[str, str]:
    """(kind, name) of the device: kind is cpu, cuda or none.

    Raises:
        UsageError: a GPU is wanted and there is none.
    """
    if wanted == "none":
        return "none", ""
    gpu = None if wanted == "cpu" else _gpu_name()
    if gpu is not None:
        return "cuda", gpu
    if wanted not in ("auto", "cpu"):
        raise UsageError(f"measure.device is {wanted}, and this machine has no NVIDIA GPU")
    return "cpu", _cpu_name()


def _gpu_name() -> str | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    if library.nvmlInit_v2() != 0:
        return None
    if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(0), ctypes.byref(handle)) != 0:
        return None
    if library.nvmlDeviceGetName(handle, name, ctypes.c_uint(96)) != 0:
        return None
    return name.value.decode(errors="replace")


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"
