"""What this machine offers to contain crawled code, found by trying each layer once per process."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import KernelsetError

from .inside import namespaces, view
from .inside.plan import Layers

LEVELS = ("process", "confined", "namespaced")
"""From weak to strong; each contains the layers of the ones before.

process: own session, empty environment, private tmp, closed descriptors, no_new_privs, rlimits,
    another user where the caller is root; seccomp or Landlock if one of them is there.
confined: Landlock (files) and seccomp (system calls).
namespaced: user, mount, PID, network, IPC and UTS namespaces, by unshare(2) or by bubblewrap.
"""
FOLDER = str(Path(__file__).resolve().parent)
"""Where the package `inside` lies."""


class SandboxTooWeak(KernelsetError):
    """The machine is below the level that was asked for; the text says what to install."""


@dataclass(frozen=True)
class Layer:
    """One layer of the sandbox on this machine."""

    name: str
    available: bool
    detail: str
    """What it is, or why it is missing."""
    remedy: str = ""
    """What to install or switch on where it is missing."""


@dataclass(frozen=True)
class SandboxLevel:
    """How strong the sandbox is on this machine."""

    name: str
    """One of `LEVELS`."""
    layers: tuple[Layer, ...]

    @property
    def available(self) -> tuple[str, ...]:
        """The names of the layers in use."""
        return tuple(layer.name for layer in self.layers if layer.available)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the layers that this machine lacks."""
        return tuple(layer.name for layer in self.layers if not layer.available)

    @property
    def advice(self) -> str:
        """What to do for the strongest level; "" where it is reached."""
        return "; ".join(layer.remedy for layer in self.layers if not layer.available)

    def at_least(self, minimum: str) -> bool:
        """Whether this level is `minimum` or stronger."""
        return LEVELS.index(self.name) >= LEVELS.index(minimum)


def detect() -> SandboxLevel:
    """Gives the level of this machine and its layers."""
    layers, found = usable_layers(), _survey()
    maker = {"own": "by unshare(2)", "bubblewrap": "by bubblewrap"}.get(layers.namespaces, "")
    return SandboxLevel(
        layers.level,
        (
            Layer("process", True, "session, environment, tmp, descriptors, no_new_privs, rlimits"),
            Layer(
                "landlock",
                layers.landlock > 0,
                found["landlock"] or f"ABI {layers.landlock}",
                "a kernel of 5.13 or later with landlock among its `lsm=` modules",
            ),
            Layer(
                "seccomp",
                layers.seccomp,
                found["seccomp"] or "system call filter",
                "a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
            ),
            Layer(
                "namespaces",
                layers.namespaces != "none",
                maker or found["namespaces"],
                "install bubblewrap (apt install bubblewrap), or allow unprivileged user namespaces",
            ),
        ),
    )


def describe() -> str:
    """Gives the level and its layers for a person, a line each."""
    level = detect()
    lines = [f"sandbox: {level.name}"]
    for layer in level.layers:
        lines.append(f"  {'yes' if layer.available else 'no ':<4}{layer.name:<12}{layer.detail}")
        if not layer.available:
            lines.append(f"      → {layer.remedy}")
    return "\n".join(lines)


def require(minimum: str, layers: Layers | None = None) -> None:
    """Refuses to go on below `minimum`, with these layers or all that the machine has.

    Raises:
        SandboxTooWeak: with one line on what to install.
    """
    if minimum == LEVELS[0]:
        return  # every machine has it; a run that finds nothing to do shall not pay for the survey
    layers = layers or usable_layers()
    if LEVELS.index(layers.level) >= LEVELS.index(minimum):
        return
    remedies = [layer.remedy for layer in detect().layers if not layer.available]
    advice = f"; to reach it: {'; '.join(remedies)}" if remedies else ""
    raise SandboxTooWeak(f"the sandbox is at level {layers.level}, {minimum} is asked for{advice}")


def usable_layers(without: Set[str] = frozenset()) -> Layers:
    """Gives the layers to use here, leaving out those named in `without`."""
    found = _survey()
    namespaces_by = "none"
    if "namespaces" not in without:
        if not found["namespaces"] and "unshare" not in without:
            namespaces_by = "own"
        elif _bubblewrap_works():
            namespaces_by = "bubblewrap"
    return Layers(
        landlock=0 if found["landlock"] or "landlock" in without else int(found["landlock_abi"]),
        seccomp=not found["seccomp"] and "seccomp" not in without,
        namespaces=namespaces_by,  # type: ignore[arg-type]  # one of the three above
    )


@functools.cache
def _survey() -> dict[str, str]:
    boot = f"import sys; sys.path.insert(0, {FOLDER!r}); from inside import survey; survey.main()"
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", boot], capture_output=True, timeout=60, check=False
    )
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no answer"]
        return dict.fromkeys(("landlock", "seccomp", "namespaces"), reason[0])
    return {name: str(value) for name, value in json.loads(done.stdout).items()}


def bubblewrap(program: str) -> list[str]:
    """Gives the command that starts a program inside bubblewrap's namespaces.

    Args:
        program: The path of bwrap.
    """
    command = [program, "--unshare-all", "--new-session", "--chdir", "/"]
    for path in [*view.SYSTEM, *view.FACTS, *view.python_folders(), FOLDER]:
        command += ["--ro-bind-try", path, path]
    for device in view.DEVICES:
        command += ["--dev-bind", device, device]
    command += ["--proc", "/proc", "--tmpfs", namespaces.HOME]
    if not any(folder.startswith("/tmp/") for folder in view.python_folders()):
        command += ["--symlink", namespaces.HOME, "/tmp"]
    return [*command, "--"]


def bubblewrap_program() -> str | None:
    """Gives the path of bwrap, if there is one."""
    return shutil.which("bwrap")


@functools.cache
def _bubblewrap_works() -> bool:
    program = bubblewrap_program()
    if program is None:
        return False
    trial = [*bubblewrap(program), sys.executable, "-I", "-S", "-c", ""]
    return subprocess.run(trial, capture_output=True, timeout=60, check=False).returncode == 0
