"""What the engine itself costs, by number of rows: time, memory and bytes, over stages that do nothing.

    python -m benchmarks.engine                       1k, 10k and 100k rows
    python -m benchmarks.engine --rows 1000000        one size (about 15 minutes)

The corpus is synthetic: a source gives a hundred files, a file two programs of some 900 random
characters each, as long as the median program of a release. Four cheap stages stand for the real ones:
one that fetches, one that expands, one that sees the whole table and one that adds columns row by row.
Every size runs in a fresh process: a first run, a run with nothing new, and one with 1 % new sources.

A real row costs about 1.6 s of work on one core (`make dataset`: 500 s on two cores for 604 problems),
which is what the overhead is compared with.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from pipeline.progress import Watch
from pipeline.recipe import EngineSettings, Recipe
from pipeline.run import Plan, run_stages
from pipeline.stage import Kept, MapStage, Outcome, Removed, Row, Settings, Stage, TableStage
from pipeline.store import Store

FILES, PROGRAMS = 100, 2  # of a source, of a file
CHARACTERS = 900  # of a program
REAL_ROW_S = 1.6
INTEGER, REAL, TEXT = pa.int64(), pa.float64(), pa.string()


class SourcesSettings(Settings):
    """How many sources there are."""

    sources: int = 1


def fields(**kinds: pa.DataType) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=False) for name, kind in kinds.items()]


SOURCE = fields(source_name=TEXT)
FILE = pa.schema([*fields(file_id=TEXT), *SOURCE, *fields(path=TEXT, text=TEXT)])
PROGRAM = pa.schema([*fields(problem_id=TEXT), *SOURCE, *fields(path=TEXT, code=TEXT)])
CLUSTERED = pa.schema([*PROGRAM, *fields(family_id=TEXT)])
FACTS = pa.schema([*CLUSTERED, *fields(flops=INTEGER, l2=REAL, note=TEXT)])


def noise(seed: str, size: int) -> str:
    """Text that compresses about as badly as code does."""
    return random.Random(seed).randbytes(size // 2).hex()


def start(settings: SourcesSettings, place: Any) -> pa.Table:
    return pa.table({"source_name": [f"source {i:06d}" for i in range(settings.sources)]})


def fetch(rows: Sequence[Row], settings: Any, place: Any) -> list[list[Outcome]]:
    def file(source: str, number: int) -> Outcome:
        path = f"{source}/{number:03d}.py"
        text = noise(path, CHARACTERS * PROGRAMS)
        return Kept({"file_id": path, "source_name": source, "path": path, "text": text})

    return [[file(row["source_name"], number) for number in range(FILES)] for row in rows]


def programs(rows: Sequence[Row], settings: Any, place: Any) -> list[list[Outcome]]:
    """Two of a file; one in ten is removed later on."""
    return [
        [
            Kept({"problem_id": f"{hash_of(row['path'])}{part}", "code": text[part::PROGRAMS]})
            for part in range(PROGRAMS)
        ]
        for row in rows
        for text in [row["text"]]
    ]


def hash_of(text: str) -> str:
    return random.Random(text).randbytes(15).hex()


def families(rows: Sequence[Row], settings: Any, place: Any) -> list[Outcome]:
    return [Kept({"family_id": row["problem_id"][:8]}) for row in rows]


def facts(rows: Sequence[Row], settings: Any, place: Any) -> list[list[Outcome]]:
    return [
        [Removed("one_in_ten")]
        if row["problem_id"][0] == "0"
        else [Kept({"flops": len(row["code"]), "l2": 0.5, "note": row["code"][:60]})]
        for row in rows
    ]


def nothing(rows: Sequence[Row], settings: Any, place: Any) -> list[Outcome]:
    return [Kept({}) for _ in rows]


STAGES: tuple[Stage, ...] = (
    MapStage("fetch", "", 1, SourcesSettings, FILE, ("source_name",), fetch, key="source_name",
             expands=True, batch=1, start=start, choosing=("sources",)),
    MapStage("programs", "", 1, Settings, PROGRAM, ("file_id", "path", "text"), programs,
             key="file_id", expands=True),
    TableStage("families", "", 1, Settings, CLUSTERED, ("problem_id", "code"), families),
    MapStage("facts", "", 1, Settings, FACTS, ("problem_id", "code"), facts),
    TableStage("release", "", 1, Settings, FACTS, ("problem_id",), nothing),
)  # fmt: skip


def run_once(root: Path, sources: int) -> dict[str, Any]:
    """Seconds of work and of everything else, of one run."""
    began, store = time.monotonic(), Store(root)
    settings: dict[str, Settings] = {stage.name: Settings() for stage in STAGES}
    settings["fetch"] = SourcesSettings(sources=sources)
    recipe = Recipe("synthetic", "", Path("synthetic"), EngineSettings(), settings)
    with store.lock():
        store.prepare()
        plan = Plan(STAGES, recipe, store, root, Watch(Console(quiet=True)), workers=0)
        lines = run_stages(plan)
    return {
        "seconds": time.monotonic() - began,
        "stages": {line.stage: round(line.seconds, 2) for line in lines},
        "rows": lines[1].result.rows["in"],
        "new": lines[3].new,
    }


def worked(sources: int) -> float:
    """Seconds that the stages' own functions take: what is not overhead."""
    began, sample = time.monotonic(), min(sources, 20)
    for row in start(SourcesSettings(sources=sample), None).to_pylist():
        files = [unit.columns for unit in fetch([row], None, None)[0] if isinstance(unit, Kept)]
        for units in programs(files, None, None):
            facts([unit.columns for unit in units if isinstance(unit, Kept)], None, None)
    return (time.monotonic() - began) * sources / sample


def size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def measure(rows: int, folder: Path) -> dict[str, Any]:
    """One size, in this process."""
    sources = max(1, rows // (FILES * PROGRAMS))
    own = worked(sources)
    cold = run_once(folder, sources)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    stored = size(folder)
    again = run_once(folder, sources)
    more = run_once(folder, sources + max(1, sources // 100))
    return {
        "rows": cold["rows"],
        "cold_s": cold["seconds"],
        "stages_s": cold["stages"],
        "overhead_ms_per_row": 1000 * max(0.0, cold["seconds"] - own) / cold["rows"],
        "peak_gb": peak / 1e9,
        "stored_kb_per_row": stored / 1e3 / cold["rows"],
        "nothing_new_s": again["seconds"],
        "one_percent_s": more["seconds"],
        "one_percent_rows": more["new"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    say = Console(width=140).print
    if given.here:
        sys.stdout.write(json.dumps(measure(given.rows[0], given.here)))
        return
    say(
        "rows       cold s  overhead ms/row  share of real work  peak GB  stored kB/row  again s  +1 % s  (rows)"
    )
    for rows in given.rows:
        folder = Path(tempfile.mkdtemp(prefix="kernelset-engine-"))
        command = [sys.executable, "-m", "benchmarks.engine", "--rows", str(rows), "--here", folder]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        shutil.rmtree(folder)
        told = json.loads(done.stdout)
        share = told["overhead_ms_per_row"] / 1000 / REAL_ROW_S
        say(
            f"{told['rows']:<9,}{told['cold_s']:8.1f}{told['overhead_ms_per_row']:17.2f}{share:20.2%}"
            f"{told['peak_gb']:9.2f}{told['stored_kb_per_row']:15.2f}{told['nothing_new_s']:9.2f}"
            f"{told['one_percent_s']:8.2f}  ({told['one_percent_rows']:,})",
            highlight=False,
        )
        say(f"         {told['stages_s']}", highlight=False)


if __name__ == "__main__":
    main()
