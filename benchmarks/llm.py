"""How many rows a second the LLM judge labels against a scripted server, and in how much memory.

    python -m benchmarks.llm [--rows 50000] [--latency 0.2] [--concurrency 64]

The server runs in a process of its own and answers every request after the given latency. Rows go
through the label stage's own work function, in batches as the engine makes them: the prompt is
built, sent, read, checked and remembered in SQLite. At the end the same rows again: nothing is sent.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.label import LABELLED, read_problems
from pipeline.paths import DATA
from pipeline.stage import Kept, Workplace
from stages.label import STAGE
from stages.label.settings import LabelSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    command = [
        sys.executable,
        "-m",
        "tests.pipeline.llm.scripted",
        "--latency",
        str(options.latency),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdout is not None
        settings = LabelSettings(
            judge="llm",
            model="scripted",
            base_url=server.stdout.readline().strip(),
            votes=1,
            concurrency=options.concurrency,
        )
        place = Workplace(cache=Path(folder), shared=Path(folder), data=DATA)
        _measure("asked", options.rows, settings, place)
        sent = _sent(server)
        _measure("remembered", min(options.rows, 5000), settings, place)
        _say(f"requests sent: {sent:,}, and by the rerun {_sent(server) - sent}")
        server.kill()


def _measure(what: str, rows: int, settings: LabelSettings, place: Workplace) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    done = 0
    for batch in _batches(rows):
        outcomes = STAGE.work(batch, settings, place)
        assert all(isinstance(outcome, Kept) for [outcome] in outcomes)
        done += len(batch)
        if done % (8 * STAGE.batch) < STAGE.batch or done == rows:
            seconds = time.perf_counter() - began
            _say(
                f"{what}: {done:>6,} rows, {done / seconds:6.0f} rows a second, "
                f"{1000 * (time.process_time() - cpu) / done:.2f} ms of CPU a row, "
                f"{_resident_mb():.0f} MB resident"
            )


def _batches(rows: int) -> Iterator[list[dict[str, Any]]]:
    """Real programs, each made another problem by a constant."""
    codes = {f"labelled/{p.relative_to(LABELLED).as_posix()}": p for p in LABELLED.rglob("*.py")}
    facts = [p for p in read_problems() if p["name"] in codes]
    texts = [codes[p["name"]].read_text() for p in facts]
    for start in range(0, rows, STAGE.batch):
        batch = []
        for number in range(start, min(rows, start + STAGE.batch)):
            which = number % len(facts)
            row = dict(facts[which]) | {"code": f"{texts[which]}\nROW = {number}\n", "outputs": []}
            batch.append({name: row[name] for name in STAGE.reads})
        yield batch


def _sent(server: "subprocess.Popen[str]") -> int:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def _resident_mb() -> float:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - not a file of the project
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
