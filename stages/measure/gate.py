"""One process at a time uses the GPU: an advisory lock keyed by the GPU's UUID.

Two kernelsets on one GPU take turns at it; the kernel frees the lock of a process that dies.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Gate:
    """The lock; taking it twice is taking it once."""

    def __init__(self, path: str | None, tell: Callable[[str], None], settle: Callable[[], None]):
        """Opens the lock file.

        Args:
            path: the lock file, or None where nothing has to be locked.
            tell: told `wait` before waiting and `hold` when the gate is ours.
            settle: waits for the device's work before the gate is passed on.
        """
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666) if path else None
        self._held = False
        self._tell = tell
        self._settle = settle

    def take(self) -> None:
        if not self._held and self._file is not None:
            self._tell("wait")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._tell("hold")
        self._held = True

    def pass_on(self) -> None:
        if self._held and self._file is not None:
            self._settle()
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._tell("compute")
        self._held = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Has the gate inside, and afterwards only if it had it before."""
        before = self._held
        self.take()
        try:
            yield
        finally:
            if not before:
                self.pass_on()

    def drop(self) -> None:
        """Passes the gate on without waiting for the device, which is lost."""
        if self._held and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._held = False


def gate_path(uuid: str) -> str:
    """Where the lock of a GPU lies; the same for every kernelset on the machine."""
    return str(Path("/tmp") / f"kernelset-gpu-{uuid}.lock")
