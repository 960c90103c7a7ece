"""Tries each layer in a process that is thrown away, since only that tells whether it works here.

A kernel may have a layer and a container, AppArmor or a sysctl may still forbid it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from . import kernel, landlock, namespaces, seccomp, view


def main() -> None:
    """Writes {layer: why it doesn't work, or ""} and the Landlock ABI to stdout, as JSON."""
    found: dict[str, str | int] = {
        "landlock": _attempt(_try_landlock),
        "landlock_abi": landlock.abi(),
        "seccomp": _attempt(_try_seccomp),
        "namespaces": _attempt(_try_namespaces),
    }
    sys.stdout.write(json.dumps(found))


def can_work_as(user: int) -> bool:
    """Whether `user` can be changed to and can then read Python and torch."""

    def attempt() -> None:
        become(user)
        for path in (os.__file__, sys.modules["torch"].__file__ or ""):
            Path(path).read_bytes()

    return _attempt(attempt) == ""


def become(user: int) -> None:
    """Changes to `user`, its group and no others, for good."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _attempt(function: Callable[[], None]) -> str:
    """Runs `function` in a fork; gives "" if it worked, else the reason."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            function()
            os.write(writing, b"+")
            status = 0
        except OSError as error:
            os.write(writing, str(error).encode()[:500])
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return "" if said == b"+" else said.decode(errors="replace") or "the trial process died"


def _try_landlock() -> None:
    version = landlock.abi()
    if not version:
        raise kernel.Unavailable(
            0, "not in this kernel, or not switched on (boot with lsm=landlock)"
        )
    kernel.forbid_new_privileges()
    landlock.restrict(version, ["/usr"], [], [])


def _try_seccomp() -> None:
    if not seccomp.supported():
        raise kernel.Unavailable(0, f"no filter for {kernel.MACHINE}")
    kernel.forbid_new_privileges()
    seccomp.restrict(allow_exec=False, allow_fork=True, allow_threads=True, signal_only=0)


def _try_namespaces() -> None:
    own = namespaces.enter(view.python_folders())
    pid = namespaces.fork_as_init(own)
    if pid == 0:
        status = 1
        try:
            namespaces.furnish(1, namespaces.NOBODY if os.geteuid() == 0 else os.geteuid())
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise kernel.Unavailable(0, "a nested PID namespace with its own /proc can't be made")
