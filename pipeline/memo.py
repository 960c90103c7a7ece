"""The memory of a map stage: each row's outcome, so that only new rows cost work.

A memo is a folder of Parquet parts, one for each finished batch, written whole by whichever worker
did the batch. A part's name holds its digest, because Parquet has no checksum of its own: a flipped
bit may read as another value. The memo is addressed by (stage, version, settings, identity); a row in it by the columns
that the stage reads. Failed outcomes are kept for this run's ledger only: the next run tries again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import StoreError
from pipeline.files import read_table, sweep, write_table
from pipeline.identity import SHORT, digest, file_digest
from pipeline.stage import Failed, Kept, Outcome, Removed, Stage

KEPT, REMOVED, FAILED = "kept", "removed", "failed"
COMPACT_ABOVE = 64  # parts; a folder of thousands of small files is slow to open
PART = re.compile(rf"part-[0-9a-f]{{24}}(?:-([0-9a-f]{{{SHORT}}}))?\.parquet")
SMALL = 16 << 20  # bytes; a part larger than this is not joined with others any more

LEDGER = [
    pa.field("key", pa.string(), nullable=False),
    pa.field("unit", pa.int64(), nullable=False),
    pa.field("status", pa.string(), nullable=False),
    pa.field("name", pa.string()),
    pa.field("reason", pa.string()),
    pa.field("detail", pa.string()),
    pa.field("matched_id", pa.string()),
    pa.field("metric", pa.string()),
    pa.field("value", pa.float64()),
    pa.field("threshold", pa.float64()),
]


def added_columns(stage: Stage, given: Iterable[str]) -> list[pa.Field]:
    """The columns that the stage itself makes: all it gives but those that came in.

    The first stage makes all of them: what it starts from are no rows of the flow yet.
    """
    carried = set() if getattr(stage, "start", None) else set(given)
    return [field for field in stage.gives if field.name not in carried]


@dataclass(frozen=True)
class Memo:
    """The outcomes of one stage under one set of settings."""

    folder: Path
    added: Sequence[pa.Field]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*LEDGER, *(field.with_nullable(True) for field in self.added)])

    def load(self, tell: Callable[[str], None] = lambda text: None) -> pa.Table:
        """The outcomes of every row that is settled, each row once. Sweeps what a crash left.

        A row with a failed unit is left out whole, so that it is tried again.

        Args:
            tell: is told of each part that is damaged and forgotten.
        """
        sweep(self.folder)
        return self._gather(self._parts(), True, tell)

    def read(self, names: Sequence[str]) -> pa.Table:
        """The outcomes in these parts, failed ones included: what a run has just done."""
        return self._gather([self.folder / name for name in sorted(set(names))], False)

    def add(self, outcomes: Sequence[tuple[str, Sequence[Outcome]]]) -> Path:
        """Remembers the outcomes of a batch: (row key, its outcomes in order)."""
        table = self._table(outcomes)
        return self._write(table, [key for key, _ in outcomes])

    def compact(self) -> None:
        """Many small parts become few; failed outcomes are forgotten on the way.

        Parts that are large already stay as they are, so that a night costs what is new in it.
        """
        small = [path for path in self._parts() if path.stat().st_size < SMALL]
        if len(small) <= COMPACT_ABOVE:
            return
        for group in _groups(small):
            whole = self._gather(group, settled_only=True).combine_chunks()
            self._write(whole, [path.name for path in group])
            for path in group:
                path.unlink(missing_ok=True)

    def _gather(
        self,
        parts: Sequence[Path],
        settled_only: bool,
        tell: Callable[[str], None] = lambda text: None,
    ) -> pa.Table:
        tables, seen = [self.schema.empty_table()], set[str]()
        for path in parts:
            table = self._read(path, tell)
            keys, states = table["key"].to_pylist(), table["status"].to_pylist()
            failed = {k for k, state in zip(keys, states, strict=True) if state == FAILED}
            # All units of a row stand in one part, so a row is taken from one part or another.
            unwanted = seen | failed if settled_only else seen
            tables.append(table.filter(pa.array([k not in unwanted for k in keys], pa.bool_())))
            seen |= set(keys) - failed if settled_only else set(keys)
        return pa.concat_tables(tables)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _write(self, table: pa.Table, named_by: Sequence[str]) -> Path:
        """Gives the part's path: what it is of, then the file's digest."""
        path = self.folder / f"part-{digest(list(named_by))[:24]}.parquet"
        named: list[Path] = []

        def final(partial: Path) -> Path:
            named.append(path.with_name(f"{path.stem}-{file_digest(partial)[:SHORT]}.parquet"))
            return named[0]

        write_table(table, path, final)
        return named[0]

    def _read(self, path: Path, tell: Callable[[str], None]) -> pa.Table:
        """A part's rows; none if it is damaged or of another schema: then they are done again."""
        try:
            table = read_table(path) if _is_what_it_says(path) else None
        except StoreError:
            table = None
        if table is None:
            tell(f"{path}: damaged; its rows are done again")
        if table is None or table.schema.names != self.schema.names:
            path.unlink(missing_ok=True)
            return self.schema.empty_table()
        return table.cast(self.schema)

    def _table(self, outcomes: Sequence[tuple[str, Sequence[Outcome]]]) -> pa.Table:
        rows = [
            row
            for key, units in outcomes
            for unit, outcome in enumerate(units)
            if (row := _plain(key, unit, outcome, self.added))
        ]
        try:
            return pa.Table.from_pylist(rows, schema=self.schema)
        except (pa.ArrowException, UnicodeError, TypeError, OverflowError):
            return pa.Table.from_pylist([self._storable(row) for row in rows], schema=self.schema)

    def _storable(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row itself, or a failed outcome if a table can't hold it (lone surrogates, say)."""
        try:
            pa.Table.from_pylist([row], schema=self.schema)
        except (pa.ArrowException, UnicodeError, TypeError, OverflowError) as error:
            message = str(error).encode("ascii", "backslashreplace").decode()
            failed = Failed("unwritable_row", f"a table can't hold this row: {message}"[:500])
            return _plain(row["key"], row["unit"], failed, self.added)
        return row


def _is_what_it_says(path: Path) -> bool:
    """Whether a part's digest is that in its name; parts of earlier kernelsets have none."""
    found = PART.fullmatch(path.name)
    return found is not None and found[1] in (None, file_digest(path)[:SHORT])


def _groups(parts: Sequence[Path]) -> Iterator[list[Path]]:
    """Parts that together are about as large as a part should be."""
    group: list[Path] = []
    size = 0
    for path in parts:
        group.append(path)
        size += path.stat().st_size
        if size >= SMALL:
            yield group
            group, size = [], 0
    if len(group) > 1:
        yield group


def _plain(key: str, unit: int, outcome: Outcome, added: Sequence[pa.Field]) -> dict[str, Any]:
    row: dict[str, Any] = {"key": key, "unit": unit}
    match outcome:
        case Kept(columns=columns):
            return row | {"status": KEPT} | _only(columns, added)
        case Removed():
            return row | {
                "status": REMOVED,
                "name": outcome.name,
                "reason": outcome.reason,
                "detail": outcome.detail,
                "matched_id": outcome.matched_id,
                "metric": outcome.metric,
                "value": outcome.value,
                "threshold": outcome.threshold,
            }
        case Failed():
            return row | {
                "status": FAILED,
                "name": outcome.name,
                "reason": outcome.reason,
                "detail": outcome.detail,
            }


def _only(columns: Mapping[str, Any], added: Sequence[pa.Field]) -> dict[str, Any]:
    """The stage's columns, complete.

    Raises:
        KeyError: the stage forgot a column that its schema promises, or made one up.
    """
    names = {field.name for field in added}
    if extra := set(columns) - names:
        raise KeyError(f"columns that the stage's schema does not have: {sorted(extra)}")
    return {field.name: columns[field.name] for field in added}
