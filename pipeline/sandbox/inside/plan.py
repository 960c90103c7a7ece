"""Which layers a server uses: decided once at its start, the same for every request."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Namespaces = Literal["own", "bubblewrap", "none"]


@dataclass(frozen=True)
class Layers:
    """The layers that a machine offers, or that a server is told to use."""

    landlock: int
    """ABI version, 0 for none."""
    seccomp: bool
    namespaces: Namespaces
    """Who makes them: the server by unshare(2), bubblewrap around it, nobody."""

    @property
    def level(self) -> str:
        """The strongest level all of whose layers are there."""
        if not (self.landlock and self.seccomp):
            return "process"
        return "confined" if self.namespaces == "none" else "namespaced"


@dataclass(frozen=True)
class Plan:
    """What each child does to itself."""

    layers: Layers
    user: int
    """The user to become; where it is the server's own, nothing changes."""
    fork: bool
    """Whether processes may be forked at all: not where RLIMIT_NPROC wouldn't bind."""
    folders: tuple[str, ...]
    """What Python needs to read."""

    @property
    def own_namespaces(self) -> bool:
        """Whether each relay is process 1 of a PID namespace with its own mounts."""
        return self.layers.namespaces == "own"

    @property
    def changes_user(self) -> bool:
        """Whether crawled code runs as another user than the relay."""
        return self.user != os.geteuid()
