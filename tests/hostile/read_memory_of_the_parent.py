"""Copies memory out of relay and caller."""

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
    here = ctypes.create_string_buffer(64)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(here), 64)
    there = (ctypes.c_size_t * 2)(id(object), 64)
    tries = [
        syscall(number, pid, vector, 1, there, 1, 0)[0]
        for pid in (os.getppid() or 1, 1, TARGET["pid"])
    ]
    return "contained" if all(result == -1 for result in tries) else f"ESCAPED {tries}"
