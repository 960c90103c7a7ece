"""Calls by the x32 numbers, which a filter on the usual ones doesn't know."""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    return f"ESCAPED {syscall(0x40000000 + 39)}"
