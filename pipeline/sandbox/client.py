"""The caller's side: starts the fork server when first needed, and again when it has died."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Set
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from . import levels
from .inside import codec, frames, namespaces
from .inside.cleanup import remove_tree
from .inside.limits import Limits
from .inside.plan import Layers
from .levels import LEVELS
from .outcome import Fault, Reason, Reply
from .surroundings import Surroundings

_START_S = 120.0
"""Seconds for the server to import torch: 2 on a quiet machine, a minute on a cold network disk."""
_STOP_S = 3.0
"""Seconds for the server to end by itself."""
_GRACE_S = 30.0
"""Seconds beyond twice the wall limit after which the server counts as hung."""
_BOOT = (
    f"import sys; sys.path.insert(0, {levels.FOLDER!r}); from inside import server; server.main()"
)


class SandboxBroken(Exception):
    """The fork server doesn't start: the worker file doesn't load, or torch is missing."""


class Sandbox:
    """Runs a worker's `handle` on requests, each in a process of its own that may do nothing else.

    A context manager. One request at a time: threads that share one wait for each other.
    """

    def __init__(
        self,
        worker: Path,
        limits: Limits = Limits(),  # noqa: B008  frozen
        minimum: str = "process",
        *,
        surroundings: Surroundings = Surroundings(),  # noqa: B008  frozen
        without: Set[str] = frozenset(),
    ) -> None:
        """Remembers what to run; nothing starts before the first `run`.

        Args:
            worker: A trusted file that imports only the standard library and torch, and defines
                `handle(request) -> dict`, perhaps `judge(request, answer) -> dict`.
            limits: For requests that bring none.
            minimum: The level below which `run` refuses.
            surroundings: Hash seed and memory of the server and all its runs.
            without: Layers to leave out ("landlock", "seccomp", "namespaces"; "unshare" for
                namespaces by bubblewrap only), to test what remains.
        """
        if minimum not in LEVELS:
            raise ValueError(f"{minimum!r} is no sandbox level; there are {', '.join(LEVELS)}")
        self._worker = Path(worker).resolve()
        self._limits = limits
        self._minimum = minimum
        self._surroundings = surroundings
        self._without = frozenset(without)
        self._lock = threading.Lock()
        self._server: _Server | None = None
        _sandboxes.add(self)

    def run(self, request: dict[str, Any], limits: Limits | None = None) -> Reply | Fault:
        """Gives what the worker makes of `request`, or why it makes nothing.

        Raises:
            SandboxTooWeak: the machine is below `minimum`.
            SandboxBroken: the server doesn't start.
            BadMessage: the request can't be sent.
        """
        limits = limits or self._limits
        order = codec.wrap({"limits": asdict(limits), "request": codec.encode(request)})
        with self._lock:
            server = self._ready()
            started = time.monotonic()
            done = False
            try:
                verdict = server.ask(order, 2 * limits.wall_s + _GRACE_S)
                done = True
            except (frames.StreamEnded, frames.StreamLate) as error:
                seconds = time.monotonic() - started
                detail = f"the fork server was lost: {type(error).__name__}"
                return Fault("server_lost", detail, "", seconds, server.level)
            finally:
                # Also when the caller was interrupted: the next answer on the socket would be this one.
                if not done:
                    self._stop()
        return _outcome(verdict, server.level)

    def close(self) -> None:
        """Ends the server and everything below it."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ready(self) -> _Server:
        if self._server is not None and not self._server.alive():
            self._stop()
        if self._server is None:
            layers = levels.usable_layers(self._without)
            levels.require(self._minimum, layers)
            self._server = _Server(self._worker, layers, self._surroundings)
        return self._server

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def _forget(self) -> None:
        """In a fork of the caller: leaves the server to the parent; the next run starts another."""
        self._lock = threading.Lock()
        if self._server is not None:
            self._server.forget()
            self._server = None


class _Server:
    """A running fork server and the socket to it."""

    def __init__(self, worker: Path, layers: Layers, surroundings: Surroundings) -> None:
        self._scratch = _make_scratch(layers)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed in forget
        self._socket, its = socket.socketpair()
        options = {
            "fd": its.fileno(),
            "worker": str(worker),
            "source": worker.read_text(),
            "scratch": self._scratch or namespaces.HOME,
            "layers": asdict(layers),
        }
        # -I would ignore PYTHONHASHSEED; with an environment of ours, -s -P isolate as well.
        command = [sys.executable, "-s", "-P", "-B", "-c", _BOOT, json.dumps(options)]
        program = levels.bubblewrap_program()
        if layers.namespaces == "bubblewrap" and program:
            command = levels.bubblewrap(program) + command
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[its.fileno()],
                env=_environment() | surroundings.environment(),
                cwd="/",
                start_new_session=True,
            )
        finally:
            its.close()
        self.level = self._greet()

    def ask(self, order: bytes, seconds: float) -> dict[str, Any]:
        """Sends one order and gives the verdict on it."""
        frames.send(self._socket.fileno(), order)
        frame = frames.receive(self._socket.fileno(), time.monotonic() + seconds)
        return codec.unwrap(frame)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the server, which ends all below it when it sees the socket closed."""
        self.forget()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._scratch:
            remove_tree(self._scratch)

    def forget(self) -> None:
        """Closes this process's ends."""
        self._socket.close()
        self._errors.close()

    def _greet(self) -> str:
        try:
            deadline = time.monotonic() + _START_S
            greeting = codec.decode(frames.receive(self._socket.fileno(), deadline))
        except (frames.StreamEnded, frames.StreamLate) as error:
            self._errors.seek(0)
            text = self._errors.read()[-2000:].decode(errors="replace")
            self.stop()
            raise SandboxBroken(f"the fork server did not start: {text}") from error
        except BaseException:
            self.stop()
            raise
        if "too_weak" in greeting:
            self.stop()
            raise levels.SandboxTooWeak(str(greeting["too_weak"]))
        return str(greeting["level"])


def _make_scratch(layers: Layers) -> str:
    """Gives a folder for the private tmps, "" where they are tmpfs inside namespaces."""
    if layers.namespaces != "none":
        return ""
    folder = tempfile.mkdtemp(prefix="kernelset-")
    Path(folder).chmod(0o711)  # nobody has to pass through
    return folder


def _environment() -> dict[str, str]:
    """Gives the server's environment: no secrets, no thread pools before the fork."""
    fixed = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # Memory that was freed is used again instead of given back: a fresh page costs a fault, and
        # programs that make the same tensors again and again spent a quarter of their time in them.
        "MALLOC_MMAP_THRESHOLD_": str(2**30),
        "MALLOC_TRIM_THRESHOLD_": str(2**32),
    }
    kept = ("LD_LIBRARY_PATH",)  # where a machine keeps libstdc++ elsewhere, torch needs it
    return fixed | {name: os.environ[name] for name in kept if name in os.environ}


def _outcome(verdict: dict[str, Any], level: str) -> Reply | Fault:
    stdout, seconds = str(verdict["stdout"]), float(verdict["seconds"])
    if verdict["reason"]:
        reason = cast(Reason, verdict["reason"])
        return Fault(reason, str(verdict["detail"]), stdout, seconds, level)
    try:
        return Reply(codec.decode(verdict["answer"]), stdout, seconds, level)
    except codec.BadMessage as error:
        return Fault("bad_result", str(error), stdout, seconds, level)


_sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()
_shared: dict[tuple[Path, str, Surroundings], Sandbox] = {}
_shared_lock = threading.Lock()


def shared_sandbox(
    worker: Path,
    limits: Limits = Limits(),  # noqa: B008  frozen
    minimum: str = "process",
    *,
    surroundings: Surroundings = Surroundings(),  # noqa: B008  frozen
) -> Sandbox:
    """Gives this process's sandbox for `worker`, the same one each time; closed at exit.

    `limits` count for the first call; later ones bring their own with each `run`.
    """
    key = (Path(worker).resolve(), minimum, surroundings)
    with _shared_lock:
        if key not in _shared:
            _shared[key] = Sandbox(worker, limits, minimum, surroundings=surroundings)
        return _shared[key]


def _close_all() -> None:
    for sandbox in list(_sandboxes):
        sandbox.close()


def _forget_all() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    for sandbox in list(_sandboxes):
        sandbox._forget()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
