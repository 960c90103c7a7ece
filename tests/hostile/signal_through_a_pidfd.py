"""Sends a signal by descriptor, and takes the parent's descriptors."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    got = []
    try:
        pidfd = os.pidfd_open(os.getppid() or 1)
        got = [syscall(424, pidfd, 9, None, 0)[0], syscall(438, pidfd, 0, 0)[0]]
    except OSError:
        pass
    return "contained" if all(result == -1 for result in got) else f"ESCAPED {got}"
