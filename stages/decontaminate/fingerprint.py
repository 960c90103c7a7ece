"""Makes a fingerprint file from a benchmark's programs. The programs themselves stay outside."""

import importlib.metadata
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError
from pipeline.sandbox import Fault, Limits
from pipeline.source.canonical import canonical_form
from pipeline.tracing.rules import GRAPH_RULES
from stages.decontaminate.control import probe_vectors
from stages.decontaminate.embedders import Embedder
from stages.decontaminate.features import features_of
from stages.decontaminate.fingerprints import Provenance
from stages.decontaminate.reading import Program, read_programs

TRACE_LIMITS = Limits(wall_s=30.0, cpu_s=30, memory_mb=12288)
_TOOLS = ("torch", "transformers", "sentence-transformers", "numpy")
_LEVEL = re.compile(r"(?:^|[/_])level_?(\d+)(?:$|[/_])")
_NUMBER = re.compile(r"^(\d+)_")


@dataclass(frozen=True)
class Problem:
    """One program of a benchmark."""

    level: int
    number: int
    name: str
    code: str


def read_problems(checkout: str, column: str = "") -> list[Problem]:
    """A benchmark's problems, by level and number.

    Args:
        checkout: KernelBench's checkout, or anything that `read_programs` reads.
        column: the column of the program, for tables.

    Raises:
        UsageError: there is nothing to read, or two problems have one level and number.
    """
    inside = Path(checkout) / "KernelBench"
    programs = read_programs(str(inside) if inside.is_dir() else checkout, column)
    problems = sorted(
        (_problem(place, program) for place, program in enumerate(programs, start=1)),
        key=lambda problem: (problem.level, problem.number, problem.name),
    )
    seen: set[tuple[int, int]] = set()
    for problem in problems:
        if (problem.level, problem.number) in seen:
            raise UsageError(f"{checkout}: level {problem.level} has number {problem.number} twice")
        seen.add((problem.level, problem.number))
    return problems


def commit_of(checkout: str) -> str:
    """The commit that is checked out, or nothing where this is no git checkout."""
    answer = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() if answer.returncode == 0 else ""


def fingerprint_rows(
    benchmark: str,
    problems: Sequence[Problem],
    embedders: Sequence[Embedder],
    trace: Callable[[str], "Traced"],
) -> Iterator[dict[str, Any]]:
    """Rows of `schemas.benchmark.BENCHMARK`, in order."""
    for problem in problems:
        canonical = canonical_form(problem.code)
        features = features_of(problem.code, embedders[0])
        traced = trace(problem.code)
        yield {
            "problem": f"{benchmark}/{problem.level}/{problem.number}",
            "level": problem.level,
            "number": problem.number,
            "name": problem.name,
            "problem_id": features.problem_id,
            "shape_blind_sha256": features.shape_blind_sha256,
            "tokens": sorted(features.tokens),
            "graph_sha256": traced.graph_sha256,
            "ops": traced.ops,
            "vectors": [
                {"embedder": one.identity, "vector": one.embed(canonical)} for one in embedders
            ],
        }


def provenance(
    benchmark: str, commit: str, rows: Sequence[dict[str, Any]], embedders: Sequence[Embedder]
) -> Provenance:
    """What a fingerprint file says about itself."""
    tools = {name: importlib.metadata.version(name) for name in _TOOLS}
    return Provenance(
        benchmark=benchmark,
        commit=commit,
        problems=len(rows),
        traced=sum(row["graph_sha256"] is not None for row in rows),
        graph=GRAPH_RULES,
        tools={"python": platform.python_version(), **tools},
        probes={embedder.identity: probe_vectors(embedder) for embedder in embedders},
    )


@dataclass(frozen=True)
class Traced:
    """What the sandbox says about a program; nothing, with the reason, where it can't be traced."""

    graph_sha256: str | None = None
    ops: list[dict[str, Any]] | None = None
    fault: str = ""


def trace_program(code: str, minimum_sandbox: str = "process") -> Traced:
    """The traced graph of a program, with fake tensors: inputs of 32768 x 32768 cost nothing.

    What needs real data (a loop until a tensor is small) is traced for real, if it fits.
    """
    from pipeline.tracing.ask import trace

    if "from_pretrained(" in code:
        return Traced(fault="needs a model hub, and the sandbox has no network")
    answer = trace(code, kind="fake", limits=TRACE_LIMITS, minimum=minimum_sandbox)
    if isinstance(answer, dict) and answer.get("fault") == "needs_data":
        answer = trace(code, kind="real", limits=TRACE_LIMITS, minimum=minimum_sandbox)
    if isinstance(answer, Fault):
        return Traced(fault=f"{answer.reason}: {answer.detail}")
    if "fault" in answer:
        return Traced(fault=f"{answer['fault']}: {answer.get('detail', '')}")
    ops = [{"op": op, "count": count} for op, count in answer["ops"]]
    return Traced(answer["graph_sha256"], ops)


def _problem(place: int, program: Program) -> Problem:
    """Level and number from KernelBench's folders and file names, or from its columns on the hub."""
    if program.code is None:
        raise UsageError(f"{program.name}: this row has no program")
    row = program.row
    stem = Path(str(row.get("path") or row.get("name") or program.name)).stem
    level = row.get("level")
    if level is None:
        found = _LEVEL.search(str(row.get("path", "")))
        level = int(found.group(1)) if found else 0
    number = row.get("problem_id")
    if not isinstance(number, int):
        match = _NUMBER.match(stem)
        number = int(match.group(1)) if match else place
    return Problem(int(level), number, _NUMBER.sub("", stem), program.code)
