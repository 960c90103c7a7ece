"""Sets the machine's clock."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 227, "aarch64": 112}[platform.machine()]
    result, error = syscall(number, 0, (ctypes.c_long * 2)(0, 0))
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
