"""Opens files by number, past every path."""

import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 304, "aarch64": 265}[platform.machine()]
    result, error = syscall(number, -100, ctypes.create_string_buffer(64), 0)
    return "contained" if (result, error) == (-1, 1) else f"ESCAPED {result} {error}"
