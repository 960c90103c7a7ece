"""The process between server and child: it watches the clock, reads the answer, kills what is left.

It never runs crawled code, and a child can't write to its memory, so what it says about a run (time,
reason, level) is true whatever the program did.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from types import ModuleType
from typing import Any

from . import child, codec, secret, tree
from .child import Task

FLOOD = 256
"""Times `output_kb` from which printing is a flood."""
_FORGED = "something else than the worker wrote to the pipe of the answer"
_CHUNK = 2**20
_TICK_S = 0.25
"""Seconds between two looks at the memory of the whole tree."""


class Abandoned(Exception):
    """Nobody waits for the verdict any more: the server, or its caller, is gone."""


class Relay:
    """One run of one task."""

    def __init__(self, task: Task, worker: ModuleType, report: int) -> None:
        self._task = task
        self._worker = worker
        self._report = report  # the pipe to the server: when it breaks, the server is gone
        self._nonce = secret.create()
        self._printed = bytearray()
        self._printed_total = 0
        self._answer = bytearray()
        self._oom_kills = tree.kernel_oom_kills()
        self._whole = False
        self._reason = ""
        self._detail = ""

    def run(self) -> dict[str, Any]:
        """Gives {reason, detail, stdout, seconds, answer}; no process of the run is left.

        An empty reason means that `answer` is what the worker returned, encoded.

        Raises:
            Abandoned: the server is gone.
        """
        started = time.monotonic()
        self._fork()
        try:
            self._follow(started + self._task.limits.wall_s)
            seconds = time.monotonic() - started
        finally:
            status, usage = tree.end(self._pid, own_namespace=self._task.plan.own_namespaces)
        self._read_output()
        if not self._whole and not self._reason:
            self._explain(status, usage)
        return {
            "reason": self._reason,
            "detail": self._detail,
            "stdout": self._stdout(),
            "seconds": seconds,
            "answer": b"" if self._reason else self._answer,
        }

    def _fork(self) -> None:
        self._output, output = os.pipe2(os.O_CLOEXEC)
        self._result, result = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            child.main(self._task, self._worker, output, result, self._nonce)
        os.close(output)
        os.close(result)
        os.set_blocking(self._output, False)
        os.set_blocking(self._result, False)

    def _follow(self, deadline: float) -> None:
        """Reads until the answer is whole, the child has ended, or a limit is passed."""
        ended = os.pidfd_open(self._pid)
        poll = select.poll()
        for fd in (self._output, self._result, ended):
            poll.register(fd, select.POLLIN)
        poll.register(self._report, 0)  # POLLERR comes unasked
        look = time.monotonic() + _TICK_S
        while not self._whole and not self._reason:
            now = time.monotonic()
            if now >= deadline:
                self._fail("timeout", f"no answer in {self._task.limits.wall_s:g} s")
                return
            if now >= look:
                self._weigh()
                look = now + _TICK_S
            ready = dict(poll.poll(max(0.0, min(deadline, look) - now) * 1000))
            if self._report in ready:
                raise Abandoned
            if self._output in ready and not self._read_output():
                poll.unregister(self._output)
            if self._result in ready and not self._read_answer():
                poll.unregister(self._result)
            if ended in ready:
                self._read_answer()
                return

    def _read_output(self) -> bool:
        """Reads what was printed; gives False at its end."""
        keep = self._task.limits.output_kb * 1024
        while not self._reason:
            try:
                part = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return True
            if not part:
                return False
            self._printed_total += len(part)
            self._printed += part[: keep - len(self._printed)]
            if self._printed_total > keep * FLOOD:
                self._fail("output_limit", f"printed more than {keep * FLOOD // 1024} KiB")
        return True

    def _read_answer(self) -> bool:
        """Reads what there is of the answer; gives False when no more can come."""
        head = secret.SIZE + child.HEADER.size
        got = self._answer
        while not self._whole and not self._reason:
            try:
                part = os.read(self._result, _CHUNK)
            except BlockingIOError:
                return True
            got += part
            if len(got) >= secret.SIZE and not secret.matches(
                self._nonce, bytes(got[: secret.SIZE])
            ):
                self._fail("bad_result", _FORGED)
            elif len(got) >= head:
                (size,) = child.HEADER.unpack_from(got, secret.SIZE)
                if size > codec.MAX_MESSAGE + 1:
                    self._fail("bad_result", f"an answer of {size} bytes")
                elif len(got) >= head + size > head:
                    self._whole = True
                    self._open(bytes(got[head : head + 1]), got[head + 1 : head + size])
            if not part:
                if 0 < len(got) < secret.SIZE:
                    self._fail("bad_result", _FORGED)
                return False
        return False

    def _open(self, kind: bytes, body: bytearray) -> None:
        self._answer = body
        if kind != child.VALUE:
            self._fail(_REASONS.get(kind, "bad_result"), body.decode(errors="replace"))

    def _weigh(self) -> None:
        """Looks at the memory of the tree: RLIMIT_AS bounds each process, not their sum."""
        pids = tree.members(self._pid, own_namespace=self._task.plan.own_namespaces)
        limit = self._task.limits.memory_mb
        if len(pids) > 1 and tree.memory_mb(pids) > limit:
            self._fail("memory_limit", f"{len(pids)} processes took more than {limit} MiB together")

    def _explain(self, status: int, usage: resource.struct_rusage) -> None:
        """Says why the child ended without an answer."""
        limits = self._task.limits
        used = usage.ru_utime + usage.ru_stime
        if not os.WIFSIGNALED(status):
            code = os.WEXITSTATUS(status)
            self._fail("no_result", f"ended with exit code {code} before an answer")
            return
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU or (number == signal.SIGKILL and used >= limits.cpu_s):
            self._fail("cpu_limit", f"used {used:.1f} CPU seconds of {limits.cpu_s}")
        elif number == signal.SIGKILL and tree.kernel_oom_kills() > self._oom_kills:
            self._fail("memory_limit", "killed by the kernel, since the machine ran out of memory")
        else:
            self._fail("crash", f"ended by {signal.Signals(number).name}")

    def _stdout(self) -> str:
        text = self._printed.decode(errors="replace")
        if self._printed_total > len(self._printed):
            text += f"\n[cut after {self._task.limits.output_kb} KiB]"
        return text

    def _fail(self, reason: str, detail: str) -> None:
        if not self._reason:
            self._reason, self._detail = reason, detail


_REASONS = {
    child.RAISED: "worker_error",
    child.OUT_OF_MEMORY: "memory_limit",
    child.EXITED: "no_result",
}
