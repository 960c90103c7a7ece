"""The fork server: imports torch and the worker once, then forks a relay and a child per request.

    caller ─socket─ server ─pipe─ relay ─pipe─ child
                    trusted       trusted      runs crawled code

The server starts no thread and runs no parallel operator: a lock held by another thread during a
fork stays locked in the child for ever.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import linecache
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from . import child, codec, frames, hugepages, kernel, namespaces, relay, survey, view
from .child import Step, Task
from .cleanup import remove_tree
from .limits import Limits
from .plan import Layers, Plan

WORKER_NAME = "kernelset_worker"
"""The worker's module name, the same in every server: it shows in tracebacks and qualified names."""
_GRACE_S = 10.0
"""Seconds the relay has to clean up after the wall clock ran out, before the server kills it."""


def main() -> None:
    """Serves the socket that the caller left open, until the caller is gone."""
    options = json.loads(sys.argv[1])
    fd, layers = int(options["fd"]), Layers(**options["layers"])
    folders = tuple(view.python_folders())
    view.keep_only_python_folders()
    own = namespaces.enter(folders) if layers.namespaces == "own" else -1
    scratch = options["scratch"] if own < 0 else namespaces.HOME
    os.environ.update(child.environment(scratch))
    worker = _load(options["worker"], options["source"])
    try:
        plan = _plan(layers, folders)
    except NoSafeUser as error:
        frames.send(fd, codec.encode({"too_weak": str(error)}))
        return
    _seed()
    _check_single_thread()
    kernel.forbid_inspection()
    gc.collect()
    gc.freeze()  # the children then don't copy pages only because gc has touched them
    hugepages.collapse()
    with contextlib.suppress(frames.StreamEnded):
        Server(fd, worker, plan, own, scratch).serve()
    os._exit(0)  # torch takes 0.2 s to tidy up what the kernel throws away at once


class Server:
    """Answers one caller's requests, one after the other."""

    def __init__(self, fd: int, worker: ModuleType, plan: Plan, own: int, scratch: str) -> None:
        self._fd = fd
        self._worker = worker
        self._plan = plan
        self._pid_namespace = own
        self._scratch = scratch

    def serve(self) -> None:
        """Reads orders and writes verdicts.

        Raises:
            StreamEnded: the caller closed the socket.
        """
        frames.send(self._fd, codec.encode({"level": self._plan.layers.level}))
        while True:
            order = codec.unwrap(frames.receive(self._fd))
            frames.send(self._fd, codec.wrap(self._respond(order)))

    def _respond(self, order: dict[str, Any]) -> dict[str, Any]:
        limits = Limits.from_dict(order["limits"])
        verdict = self._run("handle", order["request"], b"", limits)
        if not verdict["reason"] and hasattr(self._worker, "judge"):
            first = verdict
            verdict = self._run("judge", order["request"], first["answer"], limits)
            verdict["stdout"] = first["stdout"] + verdict["stdout"]
            verdict["seconds"] += first["seconds"]
        return verdict

    def _run(self, step: Step, request: bytes, answer: bytes, limits: Limits) -> dict[str, Any]:
        """Runs one step in a fresh relay and child."""
        home = self._make_home()
        task = Task(step, request, answer, limits, self._plan, home)
        reading, writing = os.pipe2(os.O_CLOEXEC)
        pid = self._fork()
        if pid == 0:
            os.close(reading)  # else the relay would never see that the server's end is closed
            self._be_relay(task, writing)
        os.close(writing)
        deadline = time.monotonic() + limits.wall_s + _GRACE_S
        try:
            return codec.unwrap(frames.receive(reading, deadline, hangup=self._fd))
        except frames.StreamLate:
            return _lost("the relay did not report in time")
        except frames.StreamEnded:
            if _hung_up(self._fd):
                raise
            return _lost("the relay died")
        finally:
            os.close(reading)  # a relay that still runs ends its child when it sees this
            _wait(pid)
            self._remove_home(home)

    def _be_relay(self, task: Task, report: int) -> NoReturn:
        status = 1
        try:
            os.close(self._fd)
            os.setsid()
            if task.plan.own_namespaces:
                namespaces.furnish(task.limits.file_mb, task.plan.user)
                kernel.die_with_parent()
            else:
                kernel.adopt_orphans()
            verdict = relay.Relay(task, self._worker, report).run()
            frames.send(report, codec.wrap(verdict))
            status = 0
        finally:
            os._exit(status)

    def _fork(self) -> int:
        if self._plan.own_namespaces:
            return namespaces.fork_as_init(self._pid_namespace)
        return os.fork()

    def _make_home(self) -> str:
        if self._plan.own_namespaces:
            return namespaces.HOME
        home = tempfile.mkdtemp(dir=self._scratch)
        if self._plan.changes_user:
            os.chown(home, self._plan.user, self._plan.user)
        return home

    def _remove_home(self, home: str) -> None:
        if not self._plan.own_namespaces:
            remove_tree(home)


class NoSafeUser(Exception):
    """There is nobody that crawled code could run as."""


def _plan(layers: Layers, folders: tuple[str, ...]) -> Plan:
    """Decides who crawled code runs as.

    Root becomes nobody: RLIMIT_NPROC doesn't bind root, and root owns what is to be protected. Where
    nobody can't read Python (it lies in /root, and no mount namespace shows it elsewhere), root stays,
    without capabilities, if Landlock guards the files and seccomp forbids forks.

    Raises:
        NoSafeUser: neither is possible.
    """
    user = os.geteuid()
    if user != 0:
        return Plan(layers, user, True, folders)
    if survey.can_work_as(namespaces.NOBODY):
        return Plan(layers, namespaces.NOBODY, True, folders)
    if layers.landlock and layers.seccomp:
        return Plan(layers, user, False, folders)
    raise NoSafeUser(
        f"at sandbox level {layers.level}, root runs crawled code as nobody, who can't read Python in "
        f"{sys.base_prefix}: run as an ordinary user, or install bubblewrap"
    )


def _load(path: str, source: str) -> ModuleType:
    """Gives the worker as a module, torch being imported and limited to one thread first.

    The source comes from the caller, since the file may lie outside what the server sees.
    """
    import torch

    torch.set_num_threads(1)
    module = ModuleType(WORKER_NAME)
    module.__file__ = path
    sys.modules[WORKER_NAME] = module
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec"), module.__dict__)
    if not callable(getattr(module, "handle", None)):
        raise AttributeError(f"{path} defines no handle(request)")
    return module


def _seed() -> None:
    """Gives every run the same random state, in every server."""
    import torch

    # torch.manual_seed also queues seeds for GPUs: 1 to 4 ms.
    torch.default_generator.manual_seed(0)
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random").seed(0)


def _check_single_thread() -> None:
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        raise RuntimeError(f"{threads} threads in the fork server: the worker must start none")


def _hung_up(fd: int) -> bool:
    """Whether the caller is gone: nothing but the end can be read while it waits for a verdict."""
    try:
        frames.receive(fd, deadline=0.0)
    except frames.StreamLate:
        return False
    except frames.StreamEnded:
        return True
    return False


def _lost(why: str) -> dict[str, Any]:
    return {"reason": "server_lost", "detail": why, "stdout": "", "seconds": 0.0, "answer": b""}


def _wait(pid: int) -> None:
    """Waits for a relay, and kills it if it takes too long."""
    deadline = time.monotonic() + _GRACE_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.0005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
