"""Runs jobs in fresh children, many at once on the CPU, one at a time on the GPU.

The parent: standard library only, it never touches CUDA. The shapes of a problem in one dtype share a
fresh child: creating a CUDA context and loading the libraries costs the GPU more time than a reading
does. Children load and compile side by side on the CPU cores; the GPU itself they use one at a time,
whoever holds the gate (gate.py), so that nothing runs beside a timing. So compilation runs ahead while
the GPU times. A child that is late, crashes or eats the memory costs the job it was at; the jobs after
it get a child of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from . import nvml
from .gate import gate_path

PACKAGE = "kernelset_measure"
Job = dict[str, Any]
Answer = dict[str, Any]

LIMITS_S = {
    "start": 60.0,  # until the program's text is reached
    "load": 60.0,  # its model, on the CPU
    "place": 60.0,  # model and inputs on the device
    "count": 120.0,  # the first call
    "compile": 300.0,
    "check": 120.0,  # the compiled output against the eager one
    "measure": 120.0,
    "leave": 60.0,
}
"""Seconds in each phase; waiting for the gate does not count."""
JOB_S = 1500.0
GRACE_S = 45.0
"""After the end of a budget: the machine may be lent, and a compilation may take minutes."""
KILL_S = 2.0
MAX_AUTOTUNE_COMPILE_S = 1800.0
UNKNOWN_BYTES = 6 * 2**30  # a program whose working set nobody has estimated
CONTEXT_BYTES = 3 * 2**29  # CUDA context, libraries' workspaces and flush buffer of one child
MEMORY_SHARE = 0.85
CANARY_EVERY_S = 120.0
LOG_BYTES = 4096
SUSPECT = (
    "illegal_access",
    "crash",
)  # after these the canary decides whether the GPU is still used


class PoolBroken(Exception):
    """The fork server does not answer, or no trusted program can be measured."""


@dataclass(frozen=True)
class Place:
    """The device, its lock, and the cores: some for whoever times, the others for compilers."""

    kind: str
    name: str
    memory_bytes: int
    gate: str
    cores: dict[str, list[int]] | None


@dataclass
class Child:
    """A process that does jobs, one after the other."""

    jobs: list[Job]
    pid: int
    folder: Path
    since: float
    """When its current job began."""
    alone: bool
    done: int = 0

    @property
    def job(self) -> Job:
        """The one it is at."""
        return self.jobs[self.done]

    @property
    def finished(self) -> bool:
        """Whether all its jobs are done."""
        return self.done == len(self.jobs)


@dataclass
class Pool:
    """Children at work. A context manager."""

    packages: Path
    """Folder in which the measuring code lies as a package."""
    place: Place
    workers: int
    start: str = "fork"
    rules: dict[str, Any] = field(default_factory=dict)
    limits_s: dict[str, float] = field(default_factory=lambda: dict(LIMITS_S))
    tell: Callable[[str], None] = lambda text: None
    canaries: list[Answer] = field(default_factory=list)
    """Answers of the canaries, the last one last."""
    lost: bool = False
    """Whether the canary failed: the GPU is not used any more."""

    def __enter__(self) -> Pool:
        """Starts the fork server and measures a trusted program through the whole path.

        All jobs start from that program's caches (Triton's own helpers, compiled once).

        Raises:
            PoolBroken: neither forking nor spawning works.
        """
        self._work = Path(tempfile.mkdtemp(prefix="kernelset-measure-"))
        self._children: dict[str, Child] = {}
        self._seed: str | None = None
        self._nursery = _Nursery(self.packages, self.start)
        try:
            self._try_out()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *trouble: object) -> None:
        self._end_children()
        self._nursery.stop()
        shutil.rmtree(self._work, ignore_errors=True)

    def _end_children(self) -> None:
        for child in self._children.values():
            kill_tree(child.pid)
        self._children.clear()

    def measure(
        self, jobs: Iterable[Job], until: float = float("inf")
    ) -> Iterator[tuple[Job, Answer]]:
        """Jobs with their answers, in the order in which they end; canaries run in between.

        Args:
            jobs: what to measure, in order; neighbours of one problem and dtype share a child.
            until: no job is started after this time by time.monotonic(); one that is not done GRACE_S
                later is ended without an answer, as if it had not been started.
        """
        waiting = deque(_groups(jobs))
        again: deque[Job] = deque()  # out of memory: once more, with the GPU to itself
        last_canary = time.monotonic()
        while (waiting or again or self._children) and not self.lost:
            now = time.monotonic()
            if now > until and (not self._children or now > until + GRACE_S):
                self._end_children()
                return
            if now - last_canary > CANARY_EVERY_S:
                self._begin([_canary_job()])
                last_canary = now
            while waiting and now < until and self._fits(waiting[0]):
                self._begin(waiting.popleft(), until)
            if again and not waiting and not self._children:
                self._begin([again.popleft()], alone=True)
            answers, left_over = self._ended()
            waiting.extendleft(reversed(left_over))
            for job, answer in answers:
                statuses = {record["status"] for record in answer["records"]}
                if job.get("canary"):
                    self._note_canary(answer)
                elif "oom" in statuses and not job.get("again") and now < until:
                    again.append(job | {"again": True})
                else:
                    if self.place.kind == "cuda" and statuses & set(SUSPECT):
                        last_canary = float("-inf")
                    yield job, answer

    @property
    def start_in_use(self) -> str:
        """How children are started: fork, or spawn where forking does not work."""
        return self._nursery.start

    def look_at_canary(self) -> None:
        """Measures the canary now, alone."""
        self._note_canary(self._alone(_canary_job()))

    def _try_out(self) -> None:
        # Without a GPU there are no caches of Triton to share, and compiling takes long.
        modes = ["eager", "inductor"] if self.place.kind == "cuda" else ["eager"]
        seed = {"job": "seed", "code": TRUSTED, "modes": modes, "dtype": "float32"}
        for start in dict.fromkeys((self.start, "spawn")):
            if start != self._nursery.start:
                self._nursery.stop()
                self._nursery = _Nursery(self.packages, start)
            answer = self._alone(seed | {"tf32": False})
            if any(
                record["status"] in ("ok", "noisy", "too_small") for record in answer["records"]
            ):
                self._seed = str(self._work / "seed" / "home")
                self.look_at_canary()
                return
            shutil.rmtree(self._work / "seed", ignore_errors=True)
            self.tell(f"start by {start} does not work: {answer}")
        raise PoolBroken("a trusted program can't be measured on this machine")

    def _note_canary(self, answer: Answer) -> None:
        canary = answer.get("canary")
        self.lost = canary is None or not canary["ok"]
        if self.lost:
            self.tell(f"the canary failed, this device is not used any more: {answer}")
            return
        self.canaries.append(answer)
        self.rules = {**self.rules, "clock_mhz": canary.get("clock_mhz") or 0.0}
        self.tell(f"canary: {canary['gemm_tflops']:.0f} TFLOP/s, {canary['copy_gb_s']:.0f} GB/s")

    def _alone(self, job: Job) -> Answer:
        self._begin([job], alone=True)
        while True:
            for ended, answer in self._ended()[0]:
                if ended["job"] == job["job"]:
                    return answer

    def _fits(self, jobs: list[Job]) -> bool:
        if len(self._children) >= self.workers:
            return False
        if any(child.alone for child in self._children.values()):
            return False
        used = sum(_bytes_of(child.jobs) for child in self._children.values())
        room = self.place.memory_bytes * MEMORY_SHARE
        return not self._children or used + _bytes_of(jobs) <= room

    def _begin(self, jobs: list[Job], until: float = float("inf"), *, alone: bool = False) -> None:
        name = jobs[0]["job"]
        folder = self._work / name
        home, answers = folder / "home", folder / "answers"
        home.mkdir(parents=True)
        answers.mkdir()
        request = self._request(jobs, folder, until)
        (folder / "request.json").write_text(json.dumps(request), "utf-8")
        pid = self._nursery.begin(
            {
                "job": name,
                "request": str(folder / "request.json"),
                "answers": str(answers),
                "log": str(folder / "log"),
                "home": str(home),
                "seed": self._seed,
            }
        )
        self._children[name] = Child(jobs, pid, folder, time.monotonic(), alone)

    def _request(self, jobs: list[Job], folder: Path, until: float) -> dict[str, Any]:
        first = jobs[0]
        items = [
            {"key": job["job"], **{name: job.get(name) for name in ("code", "atol", "rtol")}}
            for job in jobs
        ]
        return {
            "programs": items,
            "modes": first.get("modes", []),
            "device": self.place.kind,
            "dtype": first.get("dtype"),
            "tf32": first.get("tf32"),
            "rules": self.rules,
            "gate": self.place.gate,
            "cores": self.place.cores,
            "phases": str(folder / "phase"),
            "partial": str(folder / "partial.jsonl"),
            "until": until,
            "count": True,
            "canary": first.get("canary", False),
        }

    def _ended(self) -> tuple[list[tuple[Job, Answer]], list[list[Job]]]:
        """Jobs that are over, with their answers; and jobs whose child ended before their turn.

        A child over its time is killed.
        """
        answers: list[tuple[Job, Answer]] = []
        left_over = []
        codes = self._nursery.ended(0.05)
        if self._nursery.died():
            codes |= dict.fromkeys(self._children, -signal.SIGKILL)
            self._nursery = _Nursery(self.packages, self._nursery.start)
        for name, child in list(self._children.items()):
            answers += _handed_in(child)
            fault = None if child.finished else self._fault(child, codes.get(name))
            if fault is None and name not in codes:
                continue  # at work, or about to end
            if fault is not None:
                answers.append((child.job, fault))
                child.done += 1
            kill_tree(child.pid)  # what it may have left behind
            if not child.finished:
                left_over.append(child.jobs[child.done :])
            del self._children[name]
            if name != "seed":
                shutil.rmtree(child.folder, ignore_errors=True)
        return answers, left_over

    def _fault(self, child: Child, code: int | None) -> Answer | None:
        """What went wrong with the job a child is at, given its exit code if it has ended.

        A child that ended in order before its last job (the budget was over, or the device lost to it)
        has not begun the next one.
        """
        if code is None:
            late = self._late(child)
            if late is None:
                return None
            return self._without_answer(child, "timeout", f"in phase {late}")
        return self._crashed(child, code) if code != 0 or child.done == 0 else None

    def _crashed(self, child: Child, code: int) -> Answer:
        log = child.folder / "log"
        said = log.read_bytes()[-LOG_BYTES:].decode(errors="replace") if log.exists() else ""
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        status = "oom" if code == -signal.SIGKILL else "crash"
        return self._without_answer(child, status, f"{how}: {said}")

    def _without_answer(self, child: Child, status: str, detail: str) -> Answer:
        """For the job a child was at: the modes it had finished, and why there are no others."""
        job = child.job
        common = {"key": job["job"], "dtype": job.get("dtype"), "tf32": job.get("tf32")}
        common |= {"device": self.place.name, "device_kind": self.place.kind}
        empty: dict[str, Any] = {"reasons": [], "median_ms": None, "raw_ms": []}
        finished = _finished(child.folder / "partial.jsonl", job["job"])
        records = [note["record"] for note in finished]
        done = {record["mode"] for record in records}
        for mode in job.get("modes", []):
            if mode not in done:
                records.append(
                    {**common, **empty, "mode": mode, "status": status, "detail": detail}
                )
        environment = finished[-1]["environment"] if finished else {}
        return {"records": records, "environment": environment, "state": {}}

    def _late(self, child: Child) -> str | None:
        """The phase in which a child has been too long."""
        if time.monotonic() - child.since > JOB_S:
            return "job"
        phase, since = _phase(child.folder / "phase") or ("start", child.since)
        limit = self.limits_s.get(phase)
        if phase == "compile" and "inductor-max-autotune" in child.job.get("modes", []):
            limit = MAX_AUTOTUNE_COMPILE_S
        return phase if limit is not None and time.monotonic() - since > limit else None


class _Nursery:
    """The fork server's process and the pipes to it."""

    def __init__(self, packages: Path, start: str) -> None:
        self.start = start
        command = [sys.executable, "-m", f"{PACKAGE}.nursery", start]
        environment = os.environ | {"PYTHONPATH": str(packages)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        os.set_blocking(self._from.fileno(), False)
        self._rest = b""
        self._codes: dict[str, int] = {}
        self._pids: dict[str, int] = {}
        self._wait_for(lambda message: bool(message.get("ready")), 120.0)

    def begin(self, order: dict[str, Any]) -> int:
        """Starts a job and gives its pid."""
        self._to.write(json.dumps(order).encode() + b"\n")
        self._to.flush()
        self._wait_for(lambda message: message.get("started") == order["job"], 60.0)
        return self._pids.pop(order["job"])

    def ended(self, seconds: float) -> dict[str, int]:
        """Exit codes of jobs that have ended since last asked."""
        self._messages()
        if not self._codes:
            time.sleep(seconds)
            self._messages()
        codes, self._codes = self._codes, {}
        return codes

    def died(self) -> bool:
        return self._process.poll() is not None

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _wait_for(self, wanted: Any, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if [message for message in self._messages() if wanted(message)]:
                return
            if self.died():
                break
            time.sleep(0.002)
        raise PoolBroken("the fork server did not answer; see its error output above")

    def _messages(self) -> list[dict[str, Any]]:
        data = self._from.read() or b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        messages = [json.loads(line) for line in lines]
        for message in messages:
            if "ended" in message:
                self._codes[message["ended"]] = message["code"]
            elif "started" in message:
                self._pids[message["started"]] = message["pid"]
        return messages


def _groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Neighbours of one problem and dtype together."""
    keyed = groupby(jobs, key=lambda job: (job["problem_id"], job["dtype"], job["tf32"]))
    return [list(group) for _, group in keyed]


def _handed_in(child: Child) -> list[tuple[Job, Answer]]:
    """Answers that a child has left since last asked."""
    answers = []
    while not child.finished:
        path = child.folder / "answers" / f"{child.done}.json"
        if not path.exists():
            break
        answer: Answer = json.loads(path.read_text("utf-8"))
        answers.append((child.job, answer | {"records": answer.get("records", [])}))
        child.done += 1
        child.since = time.monotonic()
    return answers


def _finished(path: Path, key: str) -> list[dict[str, Any]]:
    """What a child left of the modes of a job it had finished; a torn line is dropped."""
    text = path.read_text("utf-8") if path.exists() else ""
    notes = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [note for note in notes if note["record"]["key"] == key]


def _phase(path: Path) -> tuple[str, float] | None:
    """What a child last said it was doing, and since when by the machine's monotonic clock."""
    words = path.read_text("utf-8").split() if path.exists() else []
    return (words[0], float(words[1])) if len(words) == 2 else None


def kill_tree(pid: int) -> None:
    """Kills a child and everything of its session, also what has left its process group.

    Returns when they are gone (SIGKILL takes its time, and what is killed may just have forked), or
    after KILL_S: a process in an uninterruptible call of the driver can't be waited for.
    """
    until = time.monotonic() + KILL_S
    while (members := _session(pid)) and time.monotonic() < until:
        for member in members:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                os.kill(member, signal.SIGKILL)
        time.sleep(0.01)


def _session(pid: int) -> list[int]:
    """The living processes of a session."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):  # it has ended meanwhile
            state, _, _, session = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            if int(session) == pid and state != "Z":
                members.append(int(entry.name))
    return members


def place_of(kind: str, tell: Callable[[str], None]) -> Place:
    """The GPU that CUDA_VISIBLE_DEVICES names, or the first; for kind cpu, this machine's CPU."""
    cores = sorted(os.sched_getaffinity(0))
    split = {"timing": cores[:2], "compiling": cores[2:]} if len(cores) >= 6 else None
    if kind == "cpu":
        lock = tempfile.gettempdir() + "/kernelset-cpu.lock"
        return Place("cpu", "cpu", 2**40, lock, split)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    gpus = nvml.gpus()
    if not gpus:
        # A driver without NVML: one lock for the machine, and torch will say what is wrong.
        return Place("cuda", "GPU", 2**36, gate_path("any"), split)
    by_name = {gpu["uuid"]: gpu for gpu in gpus} | {str(i): gpu for i, gpu in enumerate(gpus)}
    gpu = by_name.get(visible, gpus[0])
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu["uuid"]
    if gpu["used_bytes"] > 2**30:
        tell(f"{gpu['name']} already holds {gpu['used_bytes'] / 2**30:.1f} GiB of others")
    return Place("cuda", gpu["name"], gpu["memory_bytes"], gate_path(gpu["uuid"]), split)


def _canary_job() -> Job:
    return {
        "job": f"canary-{time.monotonic_ns()}",
        "canary": True,
        "code": "",
        "working_set": 2**30,
    }


def _bytes_of(jobs: list[Job]) -> int:
    # Inputs, their clones, the expected output and the comparison: some three working sets.
    return CONTEXT_BYTES + 3 * max(int(job.get("working_set") or UNKNOWN_BYTES) for job in jobs)


TRUSTED = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = torch.nn.Linear(64, 64)

    def forward(self, x):
        return torch.softmax(torch.relu(self.lift(x)), -1).sum(0)

def get_inputs():
    return [torch.rand(256, 64)]

def get_init_inputs():
    return []
"""
