"""Boots another kernel."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 246, "aarch64": 104}[platform.machine()]
    result, error = syscall(number, 0, 0, None, 0)
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
