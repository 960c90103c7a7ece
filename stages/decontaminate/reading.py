"""Programs from wherever they lie: a folder of .py, Parquet, JSONL, CSV, or a hub dataset."""

import csv
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError

CODE_COLUMNS = (
    "code",
    "python_code",
    "pytorch_code",
    "original_code",
    "ref_code",
    "problem",
    "source",
    "content",
)
"""Names under which published sets keep the PyTorch program, in the order in which we look:
kernelset: code; KernelBook: python_code; CUDA-Agent-Ops-6K and KernelBench on the hub: code."""

NAME_COLUMNS = ("problem_id", "name", "uuid", "problem_name", "id", "module_name", "entry_point")


@dataclass(frozen=True)
class Program:
    """A program's text and where it stands in its dataset."""

    name: str
    code: str | None
    row: Mapping[str, Any]


def read_programs(dataset: str, column: str = "") -> Iterator[Program]:
    """The programs of a dataset, in its own order.

    Args:
        dataset: a folder of .py files, a .parquet/.jsonl/.json/.csv file, a folder of those, or a
            hub id (owner/name, perhaps owner/name:split).
        column: the column that holds the program; found by its name if left out.

    Raises:
        UsageError: there is no such dataset, or no such column in it.
    """
    path = Path(dataset)
    if path.is_dir():
        yield from _folder(path, column)
    elif path.is_file():
        yield from _named(_rows(path), column, path.name)
    elif dataset.count("/") == 1 and not path.suffix:
        yield from _named(_hub(dataset), column, dataset)
    else:
        raise UsageError(f"{dataset}: no such file or folder, and not a hub dataset (owner/name)")


def _folder(path: Path, column: str) -> Iterator[Program]:
    tables = sorted(
        file for file in path.rglob("*") if file.suffix in (".parquet", ".jsonl", ".csv")
    )
    if tables:
        for file in tables:
            yield from _named(_rows(file), column, file.name)
        return
    files = sorted(path.rglob("*.py"))
    if not files:
        raise UsageError(f"{path}: holds no .py, .parquet, .jsonl or .csv file")
    for file in files:
        name = file.relative_to(path).as_posix()
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        yield Program(name, text, {"path": name})


def _named(rows: Iterator[dict[str, Any]], column: str, where: str) -> Iterator[Program]:
    for number, row in enumerate(rows):
        if number == 0:
            column = column or _code_column(row, where)
        if column not in row and number == 0:
            raise UsageError(f"{where}: no column {column!r}; it has: {', '.join(row)}")
        value = row.get(column)
        label = next((row[name] for name in NAME_COLUMNS if row.get(name) is not None), number)
        yield Program(f"{number}:{label}", value if isinstance(value, str) else None, row)


def _code_column(row: Mapping[str, Any], where: str) -> str:
    for name in CODE_COLUMNS:
        if name in row:
            return name
    raise UsageError(
        f"{where}: which column is the program? Say --column; it has: {', '.join(row)}"
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    match path.suffix:
        case ".parquet":
            import pyarrow.parquet as pq

            for batch in pq.ParquetFile(path).iter_batches(1000):
                yield from batch.to_pylist()
        case ".jsonl":
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield _object(line, path, number)
        case ".json":
            values = json.loads(path.read_text(encoding="utf-8"))
            yield from values if isinstance(values, list) else [values]
        case ".csv":
            csv.field_size_limit(sys.maxsize)
            with path.open(encoding="utf-8", newline="") as lines:
                yield from csv.DictReader(lines)
        case other:
            raise UsageError(f"{path}: can't read {other or 'a file without suffix'}")


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{path}:{number}: not JSON ({error})") from error
    return value if isinstance(value, dict) else {"code": value}


def _hub(name: str) -> Iterator[dict[str, Any]]:
    from datasets import load_dataset

    name, _, split = name.partition(":")
    try:
        found = load_dataset(name, split=split or None, streaming=True)
    except Exception as error:
        raise UsageError(
            f"{name}: not on the hub, or the hub can't be reached ({error})"
        ) from error
    parts = found.values() if isinstance(found, dict) else [found]
    for part in parts:
        yield from part
