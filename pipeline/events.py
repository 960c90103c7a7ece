"""The log of a run: one JSON object a line, each with the run's id.

    {"time": "2026-12-03T02:30:01.123Z", "run": "20261203T023000Z-4711", "event": "stage_done", …}

For machines; a person watches `pipeline/progress.py`. A log that can't be written (a full disk, a
read-only folder) never stops a run.
"""

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KEEP = 200  # logs and outcomes of runs that stay; older ones are deleted


def run_id() -> str:
    """A new run's id: when it began, and its process."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}"


class Events:
    """Where the events of one run go; without a path nowhere."""

    def __init__(self, run: str, path: Path | None = None) -> None:
        self.run, self._path = run, path

    def tell(self, event: str, **facts: Any) -> None:
        """Adds a line; it is there for a reader at once."""
        if self._path is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps(
            {"time": now, "run": self.run, "event": event, **facts}, ensure_ascii=True, default=str
        )
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="ascii") as file:
                file.write(line + "\n")


def retire(folder: Path, pattern: str) -> None:
    """Deletes the oldest files of runs beyond KEEP; their names begin with their time."""
    for path in sorted(folder.glob(pattern))[:-KEEP]:
        with contextlib.suppress(OSError):
            path.unlink()
