"""Tables of a million rows and more: read, taken from and written piece by piece.

Arrow joins the chunks of a column into one before it takes rows from it, which doubles the memory;
what stands here takes chunk by chunk, and holds only the piece that is being made.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StoreError

PIECE = 10_000  # rows; a multiple of the row group, so that pieces and a whole give the same bytes
Indices = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Pieces:
    """A table that is made while it is written."""

    schema: pa.Schema
    num_rows: int
    make: Callable[[], Iterator[pa.Table]]  # each of PIECE rows but the last


class Rows:
    """A table to take rows from, in any order, without a copy of the whole."""

    def __init__(self, table: pa.Table) -> None:
        self.schema, self.num_rows = table.schema, table.num_rows
        self._batches = table.to_batches()
        ends = np.cumsum([batch.num_rows for batch in self._batches], dtype=np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), ends])

    def take(self, indices: Indices, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at these places, in this order."""
        names = list(self.schema.names if columns is None else columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        if not len(indices) or not names:
            return schema.empty_table()
        order = np.argsort(indices, kind="stable")
        wanted = indices[order]
        batch_of = np.searchsorted(self._starts, wanted, side="right") - 1
        cuts = np.flatnonzero(np.diff(batch_of)) + 1
        taken = []
        for part in np.split(np.arange(len(wanted)), cuts):
            number = int(batch_of[part[0]])
            places = pa.array(wanted[part] - self._starts[number])
            taken.append(self._batches[number].select(names).take(places))
        gathered = pa.Table.from_batches(taken, schema).combine_chunks()
        if np.array_equal(order, np.arange(len(order))):
            return gathered
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return gathered.take(pa.array(back))


@dataclass(frozen=True)
class RowFile:
    """A Parquet file of rows that a stage reads, of which only some row groups are in memory."""

    path: Path
    columns: tuple[str, ...]

    def lists(self) -> Iterator[tuple[list[Any], ...]]:
        """The columns as Python lists, a piece of the rows at a time."""
        with _readable(self.path):
            file = pq.ParquetFile(self.path)
            for batch in file.iter_batches(PIECE, columns=list(self.columns)):
                yield tuple(batch.column(name).to_pylist() for name in self.columns)

    def rows(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """The rows at these places, in this order."""
        with _readable(self.path):
            return [self._row(index) for index in indices]

    def _row(self, index: int) -> dict[str, Any]:
        stamp = self.path.stat().st_mtime_ns
        starts = _group_starts(self.path, stamp)
        group = int(np.searchsorted(starts, index, side="right")) - 1
        table = _group(self.path, stamp, group, self.columns)
        [row] = table.slice(index - int(starts[group]), 1).to_pylist()
        return dict(row)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Says which file is damaged."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        raise StoreError(f"{path}: damaged table ({error}); delete it and run again") from error


@functools.lru_cache(maxsize=4)
def _file(path: Path, written_at: int) -> pq.ParquetFile:
    """`written_at` tells a new file of the same name."""
    return pq.ParquetFile(path)


@functools.lru_cache(maxsize=4)
def _group_starts(path: Path, written_at: int) -> Indices:
    metadata = _file(path, written_at).metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return np.cumsum([0, *sizes], dtype=np.int64)[:-1]


@functools.lru_cache(maxsize=2)
def _group(path: Path, written_at: int, group: int, columns: tuple[str, ...]) -> pa.Table:
    return _file(path, written_at).read_row_group(group, columns=list(columns))
