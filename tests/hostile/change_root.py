"""Leaves through chroot."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 161, "aarch64": 51}[platform.machine()]
    result, error = syscall(number, b".")
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
