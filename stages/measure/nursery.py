"""The fork server of a GPU machine: imports torch once, never touches the GPU, forks a child a job.

A forked child that is the first in its line to touch CUDA gets a context of its own, as a fresh
process would, without paying seconds of imports. Where forking does not work (some library has
touched CUDA during its import), `--start spawn` starts a fresh interpreter for each job instead.

Speaks JSON lines: reads {"job", "request", "answers", "log", "home", "seed"} orders, writes
{"ready": true}, {"started": job, "pid": n} and {"ended": job, "code": n}. A child leaves its answers as
0.json, 1.json, … in the folder `answers`, each as soon as it is there.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

ENVIRONMENT = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asks NVML, so that the parent stays free of CUDA
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # jobs run side by side; a pool in each would be too many
    "OMP_NUM_THREADS": "1",
    "CUDA_MODULE_LOADING": "LAZY",
    "PYTHONHASHSEED": "0",
}
LOG_BYTES = 4096  # of a traceback
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def main() -> None:
    """Serves orders on stdin until it is closed."""
    start = sys.argv[1]
    os.environ.update(ENVIRONMENT)
    if start == "child":
        _be_child(json.loads(sys.argv[2]))
    if start == "fork":
        _import_all()
    _say({"ready": True})
    serve(start)


def serve(start: str) -> None:
    jobs: dict[int, str] = {}
    orders = _Lines(sys.stdin.fileno())
    while True:
        for line in orders.read(0.02 if jobs else 1.0):
            order = json.loads(line)
            pid = _begin(order, start)
            jobs[pid] = order["job"]
            _say({"started": order["job"], "pid": pid})
        if orders.closed and not jobs:
            return
        for pid, code in _ended():
            if pid in jobs:
                _say({"ended": jobs.pop(pid), "code": code})


class _Lines:
    """Lines of a pipe, without blocking."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._rest = b""
        self.closed = False

    def read(self, seconds: float) -> list[bytes]:
        if self.closed:
            select.select([], [], [], seconds)
            return []
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return []
        data = os.read(self._file, 2**20)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


def _begin(order: dict[str, Any], start: str) -> int:
    if start == "spawn":
        command = [sys.executable, "-m", f"{__package__}.nursery", "child", json.dumps(order)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True).pid
    pid = os.fork()
    if pid == 0:
        os.setsid()
        _be_child(order)
    return pid


def _be_child(order: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        _confine(order)
        from . import job

        request = json.loads(Path(order["request"]).read_text("utf-8"))
        for number, answer in enumerate(job.run(request)):
            new = Path(order["answers"], f"{number}.new")
            new.write_text(json.dumps(answer), "utf-8")
            new.replace(new.with_suffix(".json"))
        code = 0
    except BaseException:  # noqa: BLE001  the log is all that the parent will see
        sys.stderr.write(traceback.format_exc()[-LOG_BYTES:])
        sys.stderr.flush()
    finally:
        os._exit(code)


def _confine(order: dict[str, Any]) -> None:
    """Own folder and caches, output to a file, no core dumps, no new privileges, dies with us."""
    home = order["home"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if order.get("seed"):
        shutil.copytree(order["seed"], home, dirs_exist_ok=True)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.update(HOME=home, TMPDIR=home)
    os.chdir(home)
    from . import inductor

    inductor.use_private_caches(home)


def _import_all() -> None:
    """What every child would import; nothing here may touch CUDA."""
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx
    import torch._inductor.graph
    import torch.utils.flop_counter

    with contextlib.suppress(ImportError):
        import torch._inductor.codegen.triton
        import torch._inductor.runtime.triton_heuristics
        import triton  # noqa: F401
    from . import inductor, job

    torch.set_num_threads(1)
    inductor.be_cold()
    job.warm_up()


def _ended() -> list[tuple[int, int]]:
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def _say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
