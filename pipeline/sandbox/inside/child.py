"""The process in which crawled code runs: take everything away, call the worker, write its answer."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import struct
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NoReturn

from . import codec, kernel, landlock, seccomp, secret, survey, tree, view
from .limits import Limits
from .plan import Plan

Step = Literal["handle", "judge"]

RESULT_FD = 3
VALUE, RAISED, OUT_OF_MEMORY, EXITED, UNSENDABLE = b"V", b"E", b"M", b"X", b"B"
"""The first byte of an answer: a value, or why there is none."""
HEADER = struct.Struct("<Q")

_NO_MEMORY = ("can't allocate memory", "std::bad_alloc", "not enough memory", "Cannot allocate")


@dataclass(frozen=True)
class Task:
    """One call of the worker."""

    step: Step
    request: bytes
    answer: bytes
    """What `handle` gave, for `judge`."""
    limits: Limits
    plan: Plan
    home: str
    """The private tmp."""


def main(task: Task, worker: ModuleType, output: int, result: int, nonce: int) -> NoReturn:
    """Runs `task` and ends the process; whoever forked it reads `result`."""
    status = 1
    try:
        _confine(task, output, result)
        own = os.getpid()
        kind, body = _answer(task, worker)
        if os.getpid() == own:  # else crawled code has forked and its child came back up here
            secret.write(RESULT_FD, nonce)
            _write(HEADER.pack(len(body) + 1) + kind)
            _write(body)
            status = 0
    finally:
        os._exit(status)


def _answer(task: Task, worker: ModuleType) -> tuple[bytes, bytes]:
    try:
        request = codec.decode(task.request, tensors=True)
        if task.step == "judge":
            value = worker.judge(request, codec.decode(task.answer, tensors=True))
        else:
            value = worker.handle(request)
        return VALUE, codec.encode(value)
    except codec.BadMessage as error:
        return UNSENDABLE, str(error).encode(errors="replace")
    except MemoryError:
        return OUT_OF_MEMORY, b"MemoryError"
    except SystemExit as error:
        return EXITED, f"SystemExit({error.code!r:.80})".encode(errors="replace")
    except BaseException as error:  # noqa: BLE001  reported, whatever crawled code raises
        text = traceback.format_exc(limit=-8)[-4000:]
        kind = OUT_OF_MEMORY if any(word in str(error) for word in _NO_MEMORY) else RAISED
        return kind, text.encode(errors="replace")


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(RESULT_FD, view) :]


def _confine(task: Task, output: int, result: int) -> None:
    """Applies every layer, the ones that forbid most last."""
    plan, limits = task.plan, task.limits
    os.setsid()
    kernel.die_with_parent()
    _keep_descriptors(output, result)
    _empty_environment(task.home)
    _prefer_for_the_oom_killer()
    torch: Any = sys.modules["torch"]
    torch.set_num_threads(limits.threads)
    random.seed(0)  # Python's own generator seeds itself anew after a fork; torch's doesn't
    _set_rlimits(task)
    kernel.forbid_new_privileges()
    if plan.layers.landlock:
        _restrict_paths(task)
    if plan.changes_user:
        survey.become(plan.user)
    kernel.drop_capabilities()
    kernel.forbid_inspection()
    if plan.layers.seccomp:
        seccomp.restrict(
            allow_exec=limits.allow_exec,
            allow_fork=plan.fork,
            allow_threads=plan.fork or limits.threads > 1,
            signal_only=0 if plan.own_namespaces else os.getpid(),
        )


def _restrict_paths(task: Task) -> None:
    own = task.plan.layers.namespaces != "none"
    proc = ("/proc",) if own else view.PROC_FACTS
    landlock.restrict(
        task.plan.layers.landlock,
        read=[*view.SYSTEM, *view.FACTS, *view.DEVICES, *proc, *task.plan.folders],
        write=[task.home, "/dev/null"],
        execute=[*view.PROGRAMS, task.home] if task.limits.allow_exec else [],
    )


def _prefer_for_the_oom_killer() -> None:
    """Where memory runs out, the kernel takes this process first, and not the caller."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _keep_descriptors(output: int, result: int) -> None:
    """Leaves 0 (empty), 1 and 2 (captured) and `RESULT_FD`."""
    result = os.dup(result) if result < 4 else result
    output = os.dup(output) if output < 4 else output
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(result, RESULT_FD, inheritable=False)
    os.closerange(RESULT_FD + 1, 4096)


def _empty_environment(home: str) -> None:
    ours = environment(home)
    os.environ.clear()
    os.environ.update(ours)
    os.chdir(home)
    os.umask(0o077)
    tempfile.tempdir = None


def environment(home: str) -> dict[str, str]:
    """Gives everything that the environment of a run contains."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        "USER": "sandbox",
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),  # the server's, set by the client
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # else it starts a pool of processes
    }


def _set_rlimits(task: Task) -> None:
    limits, mib = task.limits, 2**20
    bounds = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_CPU: (limits.cpu_s, limits.cpu_s + 1),
        resource.RLIMIT_AS: (limits.memory_mb * mib,) * 2,
        resource.RLIMIT_FSIZE: (limits.file_mb * mib,) * 2,
        resource.RLIMIT_NOFILE: (256, 256),
        resource.RLIMIT_NPROC: (limits.processes + _tasks_before(task.plan),) * 2,
    }
    for kind, (soft, hard) in bounds.items():
        _, most = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


def _tasks_before(plan: Plan) -> int:
    """Gives the tasks that count against RLIMIT_NPROC already: it is a limit of the user, not ours."""
    if plan.own_namespaces:  # counted per user namespace: the server, its parent and the relay
        return 0 if plan.changes_user else 3
    return tree.tasks_of(plan.user)
