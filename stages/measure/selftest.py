"""Does measuring work on this machine? A few trusted programs, each with what must come of it.

Well-behaved programs must give times, compiled ones with generated kernels; programs that go wrong
in each known way must cost their own record and nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .pool import LIMITS_S, Answer, Job, Pool

GOOD = ("ok", "too_small")
SHORT_S = dict.fromkeys(LIMITS_S, 15.0) | {"start": 60.0, "compile": 90.0}


@dataclass(frozen=True)
class Case:
    """A program and the statuses that its eager and compiled readings may have."""

    name: str
    forward: str
    inputs: str = "torch.randn(4096, 1024)"
    eager: Sequence[str] = GOOD
    compiled: Sequence[str] = GOOD
    dtype: str = "float32"
    needs_kernels: bool = False
    cuda_only: bool = False

    @property
    def code(self) -> str:
        body = "\n".join("        " + line for line in self.forward.splitlines())
        return _PROGRAM.format(body=body, inputs=self.inputs)


_PROGRAM = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = torch.nn.Linear(1024, 1024)

    def forward(self, x):
{body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""

CASES = (
    Case("softmax", "return torch.softmax(x * 2 + 1, -1)", needs_kernels=True),
    Case("linear", "return torch.relu(self.lift(x))", needs_kernels=True),
    Case("bfloat16", "return torch.relu(self.lift(x))", needs_kernels=True, dtype="bfloat16"),
    Case("integers", "return x + x // 3", "torch.randint(0, 9, (4096, 1024))"),
    Case("view", "return x.transpose(0, 1)", eager=(*GOOD, "noisy"), compiled=(*GOOD, "noisy")),
    Case("mutates", "return x.mul_(1.0001) + 1"),
    Case(
        "graph_break",
        "y = self.lift(x)\nif y.sum().item() > 1e9:\n    y = y * 2\nreturn torch.softmax(y, -1)",
    ),
    Case(
        "fails_in_bfloat16",
        "return self.lift(torch.zeros(8, 1024, device=x.device))",
        dtype="bfloat16",
        eager=("unsupported_dtype",),
        compiled=("unsupported_dtype",),
    ),
    Case("raises", "raise ValueError('no')", eager=("error",), compiled=("error",)),
    Case(
        "not_deterministic",
        "return torch.rand_like(x)",
        eager=("mismatch",),
        compiled=("mismatch",),
    ),
    Case(
        "hangs",
        "import time\ntime.sleep(1000)\nreturn x",
        eager=("timeout",),
        compiled=("timeout",),
    ),
    Case(
        "dies",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nreturn x",
        eager=("crash",),
        compiled=("crash",),
    ),
    Case(
        "too_much_memory",
        "return x.new_ones(1 << 40) + 1",
        eager=("oom",),
        compiled=("oom",),
    ),
    Case(
        "illegal_index",
        "return self.lift.weight[(x[:1, :1] * 0 + 99999).long()]",
        eager=("illegal_access",),
        compiled=("illegal_access", "crash"),
        cuda_only=True,
    ),
    Case("after_all", "return torch.softmax(self.lift(x), -1)", needs_kernels=True),
)


def run(pool: Pool, tell: Callable[[str], None]) -> int:
    """Measures all cases and says what is not as it must be; gives the exit code."""
    started = time.monotonic()
    pool.limits_s = dict(SHORT_S)
    cases = [case for case in CASES if pool.place.kind == "cuda" or not case.cuda_only]
    wrong = 0
    with pool:
        answers = {job["job"]: answer for job, answer in pool.measure([_job(c) for c in cases])}
        environment = pool.canaries[-1]["environment"] | pool.canaries[-1]["state"]
        tell(json.dumps(environment))
        start = pool.start_in_use
    for case in cases:
        troubles = _troubles(case, answers.get(case.name), pool.place.kind)
        wrong += bool(troubles)
        tell(_line(case, answers.get(case.name)))
        for trouble in troubles:
            tell(f"    WRONG: {trouble}")
    seconds = time.monotonic() - started
    tell(
        f"selftest: {len(cases) - wrong}/{len(cases)} as they must be, {seconds:.0f} s, by {start}"
    )
    return 1 if wrong else 0


def _job(case: Case) -> Job:
    return {
        "job": case.name,
        "problem_id": case.name,
        "code": case.code,
        "modes": ["eager", "inductor"],
        "dtype": case.dtype,
        "tf32": False,
        "working_set": 2**30,
    }


def _troubles(case: Case, answer: Answer | None, kind: str) -> list[str]:
    if answer is None:
        return ["no answer at all"]
    by_mode = {record["mode"]: record for record in answer["records"]}
    if set(by_mode) != {"eager", "inductor"}:
        return [f"records for {sorted(by_mode)}"]
    troubles = []
    for mode, wanted in (("eager", case.eager), ("inductor", case.compiled)):
        record = by_mode[mode]
        if record["status"] == "noisy" and kind == "cpu":
            continue  # a CPU is seldom left alone
        if record["status"] not in wanted:
            detail = str(record.get("detail", ""))[:1500]
            said = {name: record.get(name) for name in ("reasons", "blocks", "agreement")}
            troubles.append(f"{mode}: {record['status']}, not {wanted}: {said} {detail}")
    compiled = by_mode["inductor"]
    if case.needs_kernels and compiled["status"] in GOOD:
        kernels = "triton_kernels" if kind == "cuda" else "cpp_kernels"
        wanted_facts = [kernels, "generated_code", "compile_s", "graphs"]
        wanted_facts += ["peak_bytes"] if kind == "cuda" else []
        troubles += [f"inductor: no {name}" for name in wanted_facts if not compiled.get(name)]
    return troubles


def _line(case: Case, answer: Answer | None) -> str:
    parts = [f"{case.name:<20}"]
    for record in (answer or {"records": []})["records"]:
        times = ", ".join(f"{ms:.4f}" for ms in record["raw_ms"])
        facts: list[Any] = [record.get("triton_kernels"), record.get("host_share")]
        parts.append(f"{record['mode']}: {record['status']} [{times}] {facts} {record['reasons']}")
    return " | ".join(parts)
