"""KernelBench itself under the gates: which of its problems fail which gate.

    python -m benchmarks.kernelbench_gates CHECKOUT [--levels 1 2 3] [--table] [--json FILE]

CHECKOUT is a checkout of KernelBench or its folder of levels. Its code is read, executed in the
sandbox and never stored; what comes out are figures: level, number, reason, value.

Its own sizes need gigabytes, so they are shrunk by halving every named integer above a cap. Shrinking
alone can spoil a problem (as many groups as channels), so a removal is tried again at larger caps: a
problem fails a gate only if it does so at the largest size that runs here.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipeline.stage import Kept, Removed, Workplace
from stages.validate import STAGE

CAPS, SMALLER = (32, 128, 1024, 8192), (16, 8)
SIZE_IS_WRONG = frozenset(("does_not_construct", "inputs_fail", "forward_fails", "output_empty"))
"""Reasons that a larger size may cure: a kernel wider than the image, heads that don't divide."""
TOO_LARGE = frozenset(("memory_limit", "cpu_limit", "too_many_ops", "timeout"))
KNOWN = {(2, 80), (2, 83), (2, 23), (2, 66), (3, 35)}
"""Reported as degenerate, random or stateful by others: must be caught."""


@dataclass(frozen=True)
class Result:
    """One problem's way through the battery."""

    level: int
    number: int
    outcome: str  # kept, or the reason of removal or failure
    detail: str
    metric: str | None
    value: float | None
    cap: int  # greatest named size of the run
    flags: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", metavar="LEVEL/NUMBER", help="these problems alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="print the table in Markdown")
    parser.add_argument("--json", type=Path, help="write every problem's result there")
    options = parser.parse_args()
    tasks = [task for level in options.levels for task in problems(options.checkout, level)]
    if options.only:
        tasks = [task for task in tasks if f"{task[0]}/{task[1]}" in options.only]
    results = []
    with ProcessPoolExecutor(options.workers) as pool:
        for result in pool.map(examine, tasks):
            results.append(result)
            sys.stderr.write(f"{result.level}/{result.number} {result.outcome} {result.cap}\n")
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    sys.stdout.write(table(results) if options.table else summary(results))


def problems(checkout: Path, level: int) -> list[tuple[int, int, str]]:
    """(level, number, code) of a level, in order."""
    inside = checkout / "KernelBench"
    folder = (inside if inside.is_dir() else checkout) / f"level{level}"
    found = [(level, int(path.stem.split("_")[0]), path) for path in folder.glob("*.py")]
    return [(level, number, path.read_text()) for level, number, path in sorted(found)]


def examine(task: tuple[int, int, str]) -> Result:
    """Kept if it is at any cap; else the removal at the largest cap at which it runs."""
    level, number, code = task
    found: Result | None = None
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(cache=Path(folder), shared=Path(folder), data=Path(folder))
        for cap in CAPS:
            result = _at_cap(level, number, code, cap, place)
            if result.outcome == "kept":
                return result
            if result.outcome in TOO_LARGE:
                break
            if found is None or result.outcome not in SIZE_IS_WRONG:
                found = result
        for cap in SMALLER if found is None else ():
            result = _at_cap(level, number, code, cap, place)
            if result.outcome not in TOO_LARGE | SIZE_IS_WRONG:
                break
    return found if found and found.outcome not in SIZE_IS_WRONG else result


def _at_cap(level: int, number: int, code: str, cap: int, place: Workplace) -> Result:
    row = {"problem_id": "", "code": shrunk(code, cap), "class_name": "Model"}
    settings = STAGE.settings(wall_s=180.0)  # two workers on a busy machine
    [[outcome]] = STAGE.work([row], settings, place)
    if isinstance(outcome, Kept):
        return Result(level, number, "kept", "", None, None, cap, (*outcome.columns["flags"],))
    evidence = (outcome.metric, outcome.value) if isinstance(outcome, Removed) else (None, None)
    return Result(level, number, outcome.reason, outcome.detail, *evidence, cap, ())


def shrunk(code: str, cap: int) -> str:
    """The program with the integers of its top-level constants halved until they are within `cap`."""
    tree = ast.parse(code)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            node.value = _Halving(cap).visit(node.value)
    return ast.unparse(tree)


class _Halving(ast.NodeTransformer):
    def __init__(self, cap: int) -> None:
        self._cap = cap

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if type(value) is not int:
            return node
        while value > self._cap:
            value //= 2
        return ast.copy_location(ast.Constant(value), node)


def summary(results: list[Result]) -> str:
    """A line a level and reason, then the known ones."""
    lines = []
    for level in sorted({result.level for result in results}):
        mine = [result for result in results if result.level == level]
        counts = Counter(result.outcome for result in mine)
        lines.append(f"level {level}: {counts.pop('kept', 0)} of {len(mine)} kept")
        for reason, count in counts.most_common():
            numbers = ", ".join(f"#{r.number}" for r in mine if r.outcome == reason)
            lines.append(f"  {count:3d} {reason}: {numbers}")
    lines += [
        f"known {r.level}/{r.number}: {r.outcome}" for r in results if (r.level, r.number) in KNOWN
    ]
    return "\n".join(lines) + "\n"


def table(results: list[Result]) -> str:
    """Problems by reason and level, in Markdown."""
    levels = sorted({result.level for result in results})
    reasons = [reason for reason, _ in Counter(r.outcome for r in results).most_common()]
    lines = [
        "| outcome | " + " | ".join(f"level {level}" for level in levels) + " |",
        "|---" * (len(levels) + 1) + "|",
    ]
    for reason in reasons:
        cells = []
        for level in levels:
            numbers = [r.number for r in results if r.outcome == reason and r.level == level]
            shown = ", ".join(f"#{number}" for number in numbers)
            cells.append(str(len(numbers)) if reason == "kept" or not numbers else shown)
        lines.append(f"| `{reason}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
