"""Reboots the machine."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 169, "aarch64": 142}[platform.machine()]
    result, error = syscall(number, 0xFEE1DEAD, 672274793, 0x89ABCDEF, None)
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
