"""A Dask cluster of somebody else's: a scheduler and workers, each a process of its own.

They share nothing with the run but the store's folder: they are started in another folder and know the
project's code by PYTHONPATH alone.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.paths import ROOT


@dataclass(frozen=True)
class Elsewhere:
    """The cluster as a run sees it, and what a test can do to it."""

    address: str
    scheduler: "subprocess.Popen[bytes]"

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()


@contextlib.contextmanager
def dask_elsewhere(folder: Path, workers: int = 2, *options: str) -> Iterator[Elsewhere]:
    """Starts it; `options` are those of the command `dask worker`."""
    from distributed import Client

    told = folder / "scheduler.json"
    with contextlib.ExitStack() as stack:
        scheduler = _process(stack, folder, "scheduler", "--port", "0", "--scheduler-file", told)
        for _ in range(workers):
            _process(stack, folder, "worker", "--scheduler-file", told, "--nthreads", "1",
                     "--death-timeout", "60", *options)  # fmt: skip
        with Client(scheduler_file=str(told), timeout=60) as client:
            if workers:
                client.wait_for_workers(workers, timeout=60)
            address = client.scheduler.address
        yield Elsewhere(address, scheduler)


def _process(
    stack: contextlib.ExitStack, folder: Path, kind: str, *arguments: str | Path
) -> "subprocess.Popen[bytes]":
    module = f"distributed.cli.dask_{kind}"
    command = [sys.executable, "-m", module, "--no-dashboard", *map(str, arguments)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, **quiet
    )
    stack.callback(_end, process)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started: a worker's nanny starts the worker."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def when_workers_work(
    logs: Path, act: Callable[[int], object], times: int = 1
) -> Iterator[list[int]]:
    """Calls `act(pid)` while workers work, so many times; gives the workers that it struck.

    Args:
        logs: the folder in which the toy stage notes, under its process's number, what it works on.
    """
    struck: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() and len(struck) < times:
            for log in sorted(logs.glob("log-*.jsonl")):
                pid = int(log.stem.partition("-")[2])
                if pid not in struck and pid != os.getpid() and len(struck) < times:
                    struck.append(pid)
                    act(pid)
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield struck
    finally:
        over.set()
        thread.join()
