"""Figures that were measured elsewhere and committed: data/baselines/*.parquet."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import KernelsetError
from pipeline.identity import file_digest
from pipeline.source.canonical import digest
from schemas.baseline import BASELINE, BASELINE_FIELDS

FOLDER = "baselines"


class KnownBaselines:
    """Looks figures up by what was executed: the problem and the program at a shape."""

    def __init__(self, tables: Sequence[pa.Table]) -> None:
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for rows in tables:
            for row in rows.to_pylist():
                self._rows[row["problem_id"], row["program_sha256"]].append(row)

    def of(self, problem_id: str, program: str, shape_id: str) -> list[dict[str, Any]]:
        """The rows for a program, under this run's name of the shape."""
        found = self._rows.get((problem_id, digest(program)), [])
        return [
            {name: row[name] for name in BASELINE_FIELDS} | {"shape_id": shape_id} for row in found
        ]


def files(data: Path) -> list[Path]:
    return sorted((data / FOLDER).glob("*.parquet"))


def identity(data: Path) -> dict[str, str]:
    """Digest of each file, so that new figures are new work."""
    return {path.name: file_digest(path) for path in files(data)}


def read(data: Path) -> KnownBaselines:
    """All files of the folder.

    Raises:
        KernelsetError: a file isn't a table of baselines.
    """
    return _read(tuple((path, path.stat().st_mtime_ns) for path in files(data)))


@cache
def _read(paths: tuple[tuple[Path, int], ...]) -> KnownBaselines:
    tables = []
    for path, _ in paths:
        rows = pq.read_table(path)
        if rows.schema.names != BASELINE.names:
            raise KernelsetError(f"{path}: not a table of baselines as schemas/baseline.py says")
        tables.append(rows)
    return KnownBaselines(tables)
