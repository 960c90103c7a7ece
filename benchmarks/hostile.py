"""The hostile corpus as a table: what each program attempts, the layer that stops it, how it ended.

    python -m benchmarks.hostile [--only NAME …]

Every program of tests/hostile/ runs in one sandbox, one after the other, and must end as
tests/pipeline/sandbox/test_hostile.py says; else this ends with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from pipeline.sandbox import Fault, Sandbox, detect
from tests.pipeline.sandbox import test_hostile as corpus
from tests.pipeline.sandbox.leftovers import processes_left
from tests.pipeline.sandbox.prey import laid_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=corpus.NAMES, help="names of programs")
    options = parser.parse_args()
    layers = {name: layer for layer, names in corpus.LAYERS.items() for name in names}
    lines = ["| attempt | layer that stops it | how it ended |", "|---|---|---|"]
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        home, outside = Path(folder) / "home", Path(folder) / "outside"
        home.mkdir()
        outside.mkdir()
        with (
            laid_out(home, outside) as target,
            Sandbox(corpus.HERE / "worker.py", corpus.LIMITS) as sandbox,
            Sandbox(corpus.HERE / "judging_worker.py", corpus.LIMITS) as judging,
        ):
            for name in options.only:
                used = judging if name in corpus.JUDGED else sandbox
                end = how_it_ended(used, name, target)
                good += end == expected(name)
                left = "" if processes_left(used) == [] else ", PROCESS LEFT"
                attempt = (corpus.PROGRAMS / f"{name}.py").read_text().splitlines()[0].strip('"')
                lines.append(f"| {attempt} | {layers[name]} | {end}{left} |")
    lines += ["", f"sandbox level {detect().name}: {good} of {len(options.only)} as they must end"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if good == len(options.only) else 1


def how_it_ended(sandbox: Sandbox, name: str, target: dict[str, Any]) -> str:
    """The reason of the fault, the judge's word, or what the program saw of its own attempt."""
    request: dict[str, Any] = {"source": (corpus.PROGRAMS / f"{name}.py").read_text()}
    if name in corpus.JUDGED:
        outcome = sandbox.run(request | {"x": torch.arange(1.0, 5.0)})
    else:
        outcome = sandbox.run(request | {"target": target}, corpus.SPECIAL.get(name))
    if isinstance(outcome, Fault):
        return f"`{outcome.reason}`"
    if name in corpus.JUDGED:
        return "judged wrong" if outcome.value["equal"] is False else "JUDGED RIGHT"
    return "attempt failed" if outcome.value == {"value": "contained"} else str(outcome.value)


def expected(name: str) -> str:
    if name in corpus.JUDGED:
        return "judged wrong"
    return f"`{corpus.ENDS[name]}`" if name in corpus.ENDS else "attempt failed"


if __name__ == "__main__":
    sys.exit(main())
