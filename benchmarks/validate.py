"""Gate battery: problems a second through the fork server, against a fresh interpreter each.

    python -m benchmarks.validate [--problems N] [--fresh N] [--workers N] [--rows FILE …]

Without `--rows` the problems are ordinary modules made here (a norm, a linear layer or convolution,
an activation, a residual). With it, those of Parquet files that have a column `code`, e.g.
data/sample/data/*.parquet; what is missing to `--problems` is made here.

Also compares results: the same facts must come out of a forked child and of a fresh interpreter.
The proof that forked state is clean: `--problems 300 --fresh 300 --rows data/sample/data/*.parquet`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipeline.sandbox import Fault, Sandbox
from pipeline.tracing.bundle import bundled
from stages.validate.settings import ValidateSettings
from stages.validate.work import WITNESS, WITNESSES, WORKER

OPS = ("tanh", "sigmoid", "gelu", "silu", "softplus", "mish", "elu", "relu6", "selu", "hardswish")
FRESH = """
import json, runpy, sys, torch
torch.set_num_threads(1)
worker = runpy.run_path(sys.argv[1])
request = {"code": sys.stdin.read()}
answer = worker["judge"](request, worker["handle"](request))
print(json.dumps(answer, default=str, sort_keys=True))
"""


def program(number: int) -> str:
    """An ordinary module: linear or convolution, norm, activation, residual; sizes vary."""
    activation = OPS[number % len(OPS)]
    width = 16 * (1 + number % 5)
    if number % 3 == 0:
        body = (
            "self.mix = nn.Conv2d(WIDTH, WIDTH, 3, padding=1); self.norm = nn.GroupNorm(4, WIDTH)"
        )
        inputs = "torch.randn(2, WIDTH, 8, 8)"
    else:
        body = "self.mix = nn.Linear(WIDTH, WIDTH); self.norm = nn.LayerNorm(WIDTH)"
        inputs = "torch.randn(4, 16, WIDTH)"
    return f"""
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = {width}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {body}

    def forward(self, x):
        return x * {1 + number / 100} + F.{activation}(self.mix(self.norm(x)))


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


@dataclass(frozen=True)
class Run:
    """One program through the battery."""

    answer: str
    """What worker and judge gave, as JSON; of a run without an answer the reason."""
    seconds: float
    is_fault: bool = False


def through_the_fork_server(codes: list[str], workers: int) -> tuple[float, list[Run]]:
    """(problems a second, runs) of the whole battery: worker, judge and witness."""
    limits = ValidateSettings().limits()

    def drain(mine: list[str]) -> list[Run]:
        with (
            Sandbox(bundled(WORKER), limits) as worker,
            Sandbox(bundled(WITNESS), limits, surroundings=WITNESSES["witness"]) as witness,
        ):
            for sandbox in (worker, witness):
                sandbox.run({"code": program(0)})  # the server's start is not a problem's cost
            ready.append(time.perf_counter())
            while len(ready) < workers:
                time.sleep(0.01)
            return [_timed(lambda code=code: battery(worker, witness, code)) for code in mine]

    ready: list[float] = []
    with ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(drain, [codes[k::workers] for k in range(workers)]))
    seconds = time.perf_counter() - max(ready)
    runs: list[Run] = [Run("", 0.0)] * len(codes)
    for k, part in enumerate(parts):
        runs[k::workers] = part
    return len(codes) / seconds, runs


def battery(worker: Sandbox, witness: Sandbox, code: str) -> str | Fault:
    """What the stage does with a program, before the gates."""
    reply = worker.run({"code": code})
    if isinstance(reply, Fault):
        return reply
    if "fault" not in reply.value:
        witness.run({"code": code})
    return as_text(reply.value)


def through_fresh_interpreters(codes: list[str], workers: int) -> list[Run]:
    """What a loop without a fork server gives: an interpreter and an import of torch each."""
    path = str(bundled(WORKER))

    def one(code: str) -> str:
        command = [sys.executable, "-c", FRESH, path]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[-1]  # programs may print

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda code: _timed(lambda: one(code)), codes))


def as_text(answer: dict[str, Any]) -> str:
    return json.dumps(answer, default=str, sort_keys=True)


def differences(forked: list[Run], fresh: list[Run]) -> list[str]:
    """Position and keys of each answer that is another; runs that reached a limit say nothing."""
    found = []
    for position, (one, other) in enumerate(zip(forked, fresh, strict=True)):
        if one.is_fault or one.answer == other.answer:
            continue
        ours, theirs = json.loads(one.answer), json.loads(other.answer)
        keys = [k for k in sorted({*ours, *theirs}) if ours.get(k) != theirs.get(k)]
        found.append(f"{position}: {', '.join(keys)}")
    return found


def _timed(run: Callable[[], str | Fault]) -> Run:
    begin = time.perf_counter()
    answer = run()
    seconds = time.perf_counter() - begin
    if isinstance(answer, Fault):
        return Run(answer.reason, seconds, is_fault=True)
    return Run(answer, seconds)


def problems(count: int, files: list[Path]) -> list[str]:
    """Programs of the files, and as many made ones as are missing."""
    found = [code for file in files for code in pq.read_table(file, columns=["code"])["code"]]
    codes = [code.as_py() for code in found][:count]
    return codes + [program(number) for number in range(count - len(codes))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--fresh", type=int, default=20, help="problems for the fresh interpreters")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=Path, nargs="+", default=[], help="Parquet with `code`")
    options = parser.parse_args()
    codes = problems(options.problems, options.rows)
    rate, forked = through_the_fork_server(codes, options.workers)
    chosen = range(0, len(codes), max(1, len(codes) // options.fresh))[: options.fresh]
    fresh = through_fresh_interpreters([codes[k] for k in chosen], options.workers)
    same = [forked[k] for k in chosen]
    slow, fast = sum(run.seconds for run in fresh), sum(run.seconds for run in same)
    compared = sum(not run.is_fault for run in same)
    other = differences(same, fresh)
    result = {
        "problems": len(codes),
        "workers": options.workers,
        "forked_per_s": round(rate, 1),
        "fresh_per_s": round(options.workers * len(fresh) / slow, 2),
        "ratio_on_the_same_problems": round(slow / fast, 1),
        "equal_results": f"{compared - len(other)} of {compared}",
        "different": other,
        "over_a_limit": len(same) - compared,
        "load": round(os.getloadavg()[0], 1),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
