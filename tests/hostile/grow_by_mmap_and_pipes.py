"""Allocates where an rlimit on the heap wouldn't look: shared maps, pipes, SysV memory."""

import ctypes
import mmap
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    got = 0
    try:
        while got < 32:
            kept = mmap.mmap(-1, 2**30)
            globals()[f"map{got}"] = kept
            got += 1
    except (OSError, ValueError):
        pass
    shared, _ = syscall(29, ctypes.c_long(0), ctypes.c_long(2**30), ctypes.c_long(0o1600))
    return "contained" if got < 3 and shared == -1 else f"ESCAPED {got} {shared}"
