"""Forks straight into new namespaces, by clone and by clone3."""

import ctypes
import os
import platform
import struct

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    got = [syscall(clone, 0x10000000 | 17, 0, 0, 0, 0)[0]]
    arguments = struct.pack("<11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    got.append(syscall(435, arguments, len(arguments))[0])
    if 0 in got:
        os._exit(0)
    return "contained" if got == [-1, -1] else f"ESCAPED {got}"
