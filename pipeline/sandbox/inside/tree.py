"""The processes that a run has made: how many, how large, and how to end them all."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_PAGE = resource.getpagesize()
_PATIENCE_S = 5.0


def end(leader: int, *, own_namespace: bool) -> tuple[int, resource.struct_rusage]:
    """Kills `leader`, a child of this process, and all that descend from it.

    Where this process is number 1 of a PID namespace, one signal reaches all others. Elsewhere the
    tree shares `leader`'s process group (seccomp forbids to leave it); whoever has left it all the
    same becomes this process's child when its parent dies (see `kernel.adopt_orphans`).

    Returns:
        The wait status and the resource use of `leader`.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGSTOP)  # no more forks while the rest is killed
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1 if own_namespace else -leader, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGKILL)
    _, status, usage = os.wait4(leader, 0)
    _end_orphans()
    return status, usage


def members(leader: int, *, own_namespace: bool) -> list[int]:
    """Gives the processes of the run: of this namespace, or of `leader`'s process group."""
    if own_namespace:
        return [pid for pid in _all() if pid != 1]
    found = []
    for pid in _all():
        with contextlib.suppress(OSError, IndexError, ValueError):
            if int(_stat(pid)[2]) == leader:
                found.append(pid)
    return found


def memory_mb(pids: list[int]) -> float:
    """Gives what `pids` take together beyond what each has inherited from this process, MiB.

    /proc/<pid>/smaps would tell shared pages from own ones, but can't be read of a process that has
    given up its privileges. A process that gives inherited pages back and fills new ones instead
    hides as much as it has inherited, some 150 MiB.
    """
    inherited = _resident(os.getpid())
    return sum(max(0, _resident(pid) - inherited) for pid in pids) / 2**20


def tasks_of(user: int) -> int:
    """Gives the number of threads that run as `user`, as RLIMIT_NPROC counts them."""
    count = 0
    for pid in _all():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}").stat().st_uid == user:
                count += len(list(Path(f"/proc/{pid}/task").iterdir()))
    return count


def kernel_oom_kills() -> int:
    """Gives how many processes this machine's kernel has killed for want of memory, since boot."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _end_orphans() -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for child in _children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.001)


def _children() -> list[int]:
    found = []
    for pid in _all():
        with contextlib.suppress(OSError, IndexError, ValueError):
            if int(_stat(pid)[1]) == os.getpid():
                found.append(pid)
    return found


def _all() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str]:
    """Gives state, parent, process group, … of /proc/<pid>/stat; the name before may hold spaces."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(resident) - int(shared)) * _PAGE
    return 0
