"""Gate battery: problems a second through the fork server, against a fresh interpreter each.

    python benchmarks/validate.py [--problems N] [--fresh N] [--workers N]

Also compares results: the same facts must come out of a forked child and of a fresh interpreter.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipeline.sandbox import Reply, Sandbox
from pipeline.tracing.bundle import bundled
from stages.validate.work import WITNESS, WORKER

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


def through_the_fork_server(codes: list[str], workers: int) -> tuple[float, list[dict[str, Any]]]:
    """(problems a second, answers) of the whole battery: worker, judge and witness."""

    def drain(mine: list[str]) -> list[dict[str, Any]]:
        with Sandbox(bundled(WORKER)) as worker, Sandbox(bundled(WITNESS)) as witness:
            for sandbox in (worker, witness):
                sandbox.run({"code": program(0)})  # the server's start is not a problem's cost
            ready.append(time.perf_counter())
            while len(ready) < workers:
                time.sleep(0.01)
            answers = []
            for code in mine:
                reply, other = worker.run({"code": code}), witness.run({"code": code})
                assert isinstance(reply, Reply) and isinstance(other, Reply), (reply, other)
                assert reply.value["digest"] == other.value["digest"]
                answers.append(reply.value)
            return answers

    ready: list[float] = []
    with ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(drain, [codes[k::workers] for k in range(workers)]))
    seconds = time.perf_counter() - max(ready)
    answers: list[dict[str, Any]] = [{}] * len(codes)
    for k, part in enumerate(parts):
        answers[k::workers] = part
    return len(codes) / seconds, answers


def through_fresh_interpreters(codes: list[str], workers: int) -> tuple[float, list[str]]:
    """(problems a second, answers as JSON): what a loop without a fork server would give."""
    path = str(bundled(WORKER))

    def one(code: str) -> str:
        command = [sys.executable, "-c", FRESH, path]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    begin = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(one, codes))
    return len(codes) / (time.perf_counter() - begin), answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--fresh", type=int, default=20, help="problems for the fresh interpreters")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    codes = [program(number) for number in range(options.problems)]
    forked, answers = through_the_fork_server(codes, options.workers)
    fresh, others = through_fresh_interpreters(codes[: options.fresh], options.workers)
    equal = sum(
        json.dumps(answer, default=str, sort_keys=True) == other
        for answer, other in zip(answers, others, strict=False)
    )
    result = {
        "problems": options.problems,
        "workers": options.workers,
        "forked_per_s": round(forked, 1),
        "fresh_per_s": round(fresh, 2),
        "ratio": round(forked / fresh, 1),
        "equal_results": f"{equal} of {len(others)}",
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
