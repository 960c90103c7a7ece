"""Attaches to relay and caller as a debugger."""

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    number = {"x86_64": 101, "aarch64": 117}[platform.machine()]
    tries = [syscall(number, 16, pid, 0, 0)[0] for pid in (os.getppid() or 1, 1, TARGET["pid"])]
    return "contained" if all(result == -1 for result in tries) else f"ESCAPED {tries}"
