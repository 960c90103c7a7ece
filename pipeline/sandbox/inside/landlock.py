"""Landlock: which paths a process may touch, enforced by the kernel, without privileges.

Numbers from linux/landlock.h; what each ABI adds: https://docs.kernel.org/userspace-api/landlock.html
Landlock doesn't cover stat, chdir, readlink and chmod: that a file exists can be seen, what is in it
can't. Mount namespaces close that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FIRST_ABI = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15  # ABI 2, 3, 5
_TCP = 0b11  # ABI 4: bind and connect
_SCOPES = 0b11  # ABI 6: abstract unix sockets, and signals to processes outside
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def abi() -> int:
    """Gives the ABI version of the running kernel, 0 where there is no Landlock."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except kernel.Unavailable:
        return 0


def restrict(
    version: int, read: Iterable[str], write: Iterable[str], execute: Iterable[str]
) -> None:
    """Leaves this process only what stands below these paths; all else can't be opened.

    Needs no_new_privs. Paths that don't exist are passed over.

    Args:
        version: What `abi` gave.
        read: Files and folders to read.
        write: Folders and devices to read and to change.
        execute: Folders to read and to start programs from.
    """
    handled = _FIRST_ABI
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= right if version >= since else 0
    attributes = struct.pack("<Q", handled)
    attributes += struct.pack("<Q", _TCP) if version >= 4 else b""
    attributes += struct.pack("<Q", _SCOPES) if version >= 6 else b""
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        reading = _READ_FILE | _READ_DIR
        for paths, rights in (
            (read, reading),
            (write, handled & ~_EXECUTE),
            (execute, reading | _EXECUTE),
        ):
            for path in paths:
                _allow(ruleset, path, rights)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= _ON_FILES
            rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, fd), 12)  # packed struct
            pointer = ctypes.cast(rule, ctypes.c_void_p)
            kernel.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, pointer, 0)
        finally:
            os.close(fd)
