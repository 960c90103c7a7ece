"""Puts a program into a memfd and starts it, leaving no file."""

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    memfd, execveat = {"x86_64": (319, 322), "aarch64": (279, 281)}[platform.machine()]
    got, _ = syscall(memfd, b"x", 0)
    fd = os.open("/bin/true", os.O_RDONLY)
    arguments = (ctypes.c_char_p * 2)(b"true", None)
    syscall(execveat, fd, b"", arguments, None, 0x1000)
    return "contained" if got == -1 else "ESCAPED"
