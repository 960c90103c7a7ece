"""Watches the CPU by perf_event_open."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    result, error = syscall(number, ctypes.create_string_buffer(128), 0, -1, -1, 0)
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
