"""A nonce that no Python object holds.

The worker's answer starts with it. It lies in memory from malloc, so that neither `gc` nor a walk
over frames finds it; only its address is known. That stops a program which writes to the pipe, not
one which reads memory by ctypes: no secret survives in a process that the program owns. Where it
matters, write a `judge` (see `pipeline.sandbox`).
"""

from __future__ import annotations

import ctypes
import os

from .kernel import LIBC

SIZE = 32


def create() -> int:
    """Gives the address of a fresh nonce."""
    LIBC.malloc.restype = ctypes.c_void_p
    address = int(LIBC.malloc(ctypes.c_size_t(SIZE)))
    filled = LIBC.getrandom(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), ctypes.c_uint(0))
    if filled != SIZE:
        raise OSError("getrandom gave too little")
    return address


def write(fd: int, address: int) -> None:
    """Writes the nonce to `fd` without making a Python object of it."""
    if LIBC.write(fd, ctypes.c_void_p(address), ctypes.c_size_t(SIZE)) != SIZE:
        os._exit(1)


def matches(address: int, claimed: bytes) -> bool:
    """Whether `claimed` is the nonce. Only for the process that never runs crawled code."""
    return ctypes.string_at(address, SIZE) == claimed
