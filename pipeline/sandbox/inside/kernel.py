"""System calls that Python doesn't wrap, by ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

# PyDLL keeps the interpreter lock: these calls are short, and the processes here have one thread.
LIBC = ctypes.PyDLL(None, use_errno=True)
MACHINE = platform.machine()

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38


class Unavailable(OSError):
    """The kernel doesn't offer a call, or doesn't allow it here."""


def call(name: str, *arguments: int | bytes | ctypes.c_void_p | None) -> int:
    """Calls libc's function `name`; an integer is passed as a long, bytes as a pointer.

    Raises:
        Unavailable: it gave -1; errno and its text are in the exception.
    """
    function = getattr(LIBC, name)
    function.restype = ctypes.c_long
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(function(*given))
    if result == -1:
        errno = ctypes.get_errno()
        raise Unavailable(errno, f"{name}: {os.strerror(errno)}")
    return result


def syscall(number: int, *arguments: int | bytes | ctypes.c_void_p | None) -> int:
    """Calls the system call `number`, like `call`."""
    return call("syscall", number, *arguments)


def die_with_parent() -> None:
    """Has the kernel kill this process when the thread that forked it ends."""
    call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def forbid_new_privileges() -> None:
    """No setuid program helps from here on; Landlock and seccomp ask for it."""
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def forbid_inspection() -> None:
    """Closes /proc/<pid> and ptrace of this process to others of the same user."""
    call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Makes orphans among the descendants children of this process, which can then reap them."""
    call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def drop_capabilities() -> None:
    """Gives up every capability, for good once `forbid_new_privileges` was called."""
    version_3 = 0x20080522  # linux/capability.h
    header = ctypes.create_string_buffer(version_3.to_bytes(4, "little") + bytes(4))
    data = ctypes.create_string_buffer(24)
    call("capset", ctypes.cast(header, ctypes.c_void_p), ctypes.cast(data, ctypes.c_void_p))
