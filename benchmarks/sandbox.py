"""How long a run in the sandbox takes, next to a fresh interpreter for each run.

    python -m benchmarks.sandbox [--runs 60] [--fresh 5]

Both run the same small module (a linear layer on a batch) one after the other, interleaved in one
process, so that the load of the machine falls on both. The fresh interpreter has no protection at
all: it only pays for importing torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.sandbox import Fault, Sandbox, detect

PROGRAM = """
model = torch.nn.Linear(64, 64)
result = model(torch.ones(8, 64)).shape
"""
WORKER = """
import torch


def handle(request):
    if "source" in request:
        space = {"torch": torch}
        exec(request["source"], space)
        return {"shape": list(space["result"])}
    return {}
"""


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=60, help="sandbox runs of each kind")
    parser.add_argument("--fresh", type=int, default=5, help="fresh interpreters")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        worker = Path(folder) / "worker.py"
        worker.write_text(WORKER)
        with Sandbox(worker) as sandbox:
            start = _seconds(lambda: _run(sandbox, {}))
            empty: list[float] = []
            program: list[float] = []
            fresh: list[float] = []
            for number in range(options.runs):
                empty.append(_seconds(lambda: _run(sandbox, {})))
                program.append(_seconds(lambda: _run(sandbox, {"source": PROGRAM})))
                if number * options.fresh // options.runs >= len(fresh):
                    fresh.append(_seconds(_fresh))
    ratio = statistics.median(fresh) / statistics.median(program)
    lines = [
        f"sandbox level {detect().name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        f"start of the server, once   {start * 1e3:8.0f} ms",
        f"empty request               {_line(empty)}",
        f"small module                {_line(program)}",
        f"the same, fresh interpreter {_line(fresh)}",
        f"ratio of medians            {ratio:8.0f} times",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _run(sandbox: Sandbox, request: dict[str, str]) -> None:
    outcome = sandbox.run(dict(request))
    if isinstance(outcome, Fault):
        raise SystemExit(f"{outcome.reason}: {outcome.detail}")


def _fresh() -> None:
    subprocess.run([sys.executable, "-c", "import torch\n" + PROGRAM], check=True)


def _seconds(function: Callable[[], None]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _line(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    low, high = ordered[0], ordered[int(0.95 * (len(ordered) - 1))]
    return (
        f"{statistics.median(ordered) * 1e3:8.1f} ms median of {len(ordered)} "
        f"({low * 1e3:.1f} least, {high * 1e3:.1f} at 95 %)"
    )


if __name__ == "__main__":
    main()
