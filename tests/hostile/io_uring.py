"""Sets up io_uring, whose operations pass seccomp by."""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(number, *arguments):
    """Gives the result and errno of a raw system call."""
    LIBC.syscall.restype = ctypes.c_long
    return LIBC.syscall(ctypes.c_long(number), *arguments), ctypes.get_errno()


def run():
    result, _ = syscall(425, 8, ctypes.create_string_buffer(256))
    return "contained" if result == -1 else "ESCAPED"
