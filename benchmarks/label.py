"""How the rule judge agrees with hand labels, and how its levels order a benchmark's.

    python -m benchmarks.label                        confusion matrices from the stored facts
    python -m benchmarks.label --trace                traces the hand-labelled programs anew first
    python -m benchmarks.label --kernelbench FOLDER   also a checkout of KernelBench, level by level

Two hand-labelled sets: the project's examples (data/examples/levels.toml) and KernelBench-like
programs (tests/stages/label/labelled/levels.toml). Half of the problems, chosen by a digest of
their names, served to set the rules' thresholds; the other half was held out and is what counts.
"""

import argparse
import hashlib
import json
import statistics
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pipeline.paths import DATA, ROOT
from pipeline.stage import Kept
from stages.label.rules import judge_by_rules

LABELLED = ROOT / "tests" / "stages" / "label" / "labelled"
FACTS = LABELLED / "facts.jsonl"
LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5")
KERNELBENCH_LEVELS = (1, 2, 3)

Problem = Mapping[str, Any]  # name, level, reason, and the facts that the rules read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--kernelbench", type=Path)
    options = parser.parse_args()
    if options.trace:
        write_facts()
    problems = read_problems()
    for title, some in (
        ("calibration half", [p for p in problems if not held_out(p["name"])]),
        ("held-out half", [p for p in problems if held_out(p["name"])]),
    ):
        _say(f"\n{title}: {len(some)} problems\n{confusion(some)}\n{agreement(some)}")
    if options.kernelbench:
        _say(f"\nKernelBench\n{ordering(options.kernelbench)}")


def read_problems() -> list[Problem]:
    """The hand-labelled problems with their stored facts."""
    facts = {}
    for line in FACTS.read_text().splitlines():
        fact = json.loads(line)
        facts[fact["name"]] = fact
    return [facts[p["name"]] | p for p in labels() if p["name"] in facts]


def labels() -> Iterator[Problem]:
    """name, level and reason of all hand-labelled problems."""
    for problem in tomllib.loads((DATA / "examples" / "levels.toml").read_text())["problem"]:
        name = f"examples/{problem['file']}:{problem['class']}"
        yield {"name": name, "level": problem["level"], "reason": problem["reason"]}
    for problem in tomllib.loads((LABELLED / "levels.toml").read_text())["problem"]:
        name = f"labelled/{problem['file']}"
        yield {"name": name, "level": problem["level"], "reason": problem["reason"]}


def held_out(name: str) -> bool:
    """Whether a problem was never looked at while the rules were made."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def judged(problem: Problem) -> str:
    outcome = judge_by_rules(problem)
    assert isinstance(outcome, Kept)
    return str(outcome.columns["level"])


def agreement(problems: Sequence[Problem]) -> str:
    """Exact and within-one agreement."""
    exact, near = shares(problems)
    return f"exact {exact:.1%}, within one {near:.1%}"


def shares(problems: Sequence[Problem]) -> tuple[float, float]:
    distances = [abs(LEVELS.index(judged(p)) - LEVELS.index(p["level"])) for p in problems]
    return (
        sum(d == 0 for d in distances) / len(distances),
        sum(d <= 1 for d in distances) / len(distances),
    )


def confusion(problems: Sequence[Problem]) -> str:
    """Rows: by hand; columns: by the rules."""
    counts = Counter((p["level"], judged(p)) for p in problems)
    lines = ["hand \\ rules" + "".join(f"{level:>5}" for level in LEVELS)]
    for row in LEVELS:
        cells = "".join(f"{counts[row, level] or '.':>5}" for level in LEVELS)
        lines.append(f"{row:>12}{cells}")
    return "\n".join(lines)


def ordering(checkout: Path) -> str:
    """Levels of the problems of each KernelBench level; traced with fakes, at their own sizes."""
    lines, means = [], []
    for level in KERNELBENCH_LEVELS:
        found: list[int] = []
        skipped = 0
        for path in sorted((checkout / "KernelBench" / f"level{level}").glob("*.py")):
            facts = traced(path.read_text(), "fake")
            if facts is None:
                skipped += 1
            else:
                found.append(LEVELS.index(judged(facts)))
        means.append(statistics.mean(found))
        counts = Counter(found)
        cells = "".join(f"{counts[i] or '.':>5}" for i in range(len(LEVELS)))
        lines.append(f"level {level}{cells}   mean {means[-1]:.2f}, not traced: {skipped}")
    head = "       " + "".join(f"{level:>5}" for level in LEVELS)
    ordered = "ordered" if means == sorted(means) else "NOT ordered"
    return "\n".join([head, *lines, ordered])


def write_facts() -> None:
    """Traces every hand-labelled program; the figures are stored, for the tests."""
    lines = []
    for name, code in [*examples(), *labelled()]:
        facts = traced(code, "real")
        if facts is not None:
            lines.append(json.dumps({"name": name} | facts, sort_keys=True))
    FACTS.write_text("\n".join(sorted(lines)) + "\n")


def examples() -> Iterator[tuple[str, str]]:
    """The programs that the extract stage makes of the examples that have a label."""
    from pipeline.stage import Workplace
    from stages.extract import STAGE as extract

    wanted = {p["name"] for p in labels()}
    place = Workplace(cache=Path("/nonexistent"), shared=Path("/nonexistent"), data=DATA)
    for path in sorted((DATA / "examples").glob("*.py")):
        row = dict.fromkeys(extract.reads, "") | {"path": path.name, "text": path.read_text()}
        for outcome in extract.work([row], extract.settings(), place)[0]:
            if isinstance(outcome, Kept):
                name = f"examples/{path.name}:{outcome.columns['class_name']}"
                if name in wanted:
                    yield name, outcome.columns["code"]


def labelled() -> Iterator[tuple[str, str]]:
    for path in sorted(LABELLED.rglob("*.py")):
        yield f"labelled/{path.relative_to(LABELLED).as_posix()}", path.read_text()


def traced(code: str, kind: Literal["fake", "real"]) -> dict[str, Any] | None:
    """What the rules read of a program; None, said aloud, if it can't be traced."""
    from pipeline.sandbox import Fault
    from pipeline.source.canonical import problem_id
    from pipeline.tracing.ask import trace

    seen = trace(code, kind=kind)
    if isinstance(seen, Fault) or "fault" in seen:
        _say(f"not traced: {seen}"[:200], sys.stderr)
        return None
    ops = [{"op": op, "count": count} for op, count in seen["ops"]]
    names = ("flops", "flops_matrix", "bytes_fused", "bytes_unfused", "parameters")
    return {"problem_id": problem_id(code), "ops": ops} | {name: seen[name] for name in names}


def _say(text: str, stream: Any = sys.stdout) -> None:
    stream.write(text + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
