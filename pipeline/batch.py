"""One batch of a map stage: what a worker does, here or on another machine.

A worker and the driver share only the store's folder. The task that travels is small: which stage,
which rows of which table; the outcomes go straight into the stage's memo.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import OperationalError
from typing import Any

from pipeline.errors import KernelsetError
from pipeline.identity import row_key
from pipeline.memo import Memo
from pipeline.rows import RowFile
from pipeline.sandbox import SandboxBroken
from pipeline.stage import Failed, Kept, MapStage, Outcome, Row, Workplace


@dataclass(frozen=True)
class Batch:
    """A task: rows `indices` of the table `rows`, to be done by `stage`."""

    stage: MapStage
    settings: Any
    workplace: Workplace
    rows: RowFile  # the rows that came in, with the columns that the stage reads
    indices: tuple[int, ...]
    memo: Memo


@dataclass(frozen=True)
class BatchDone:
    """What comes back: the name of the memo's part and the counts for the progress bar."""

    part: str
    rows: int
    kept: int
    failed: int


def run_batch(batch: Batch) -> BatchDone:
    """Does a batch and stores its outcomes."""
    rows = batch.rows.rows(batch.indices)
    return remember(batch, rows, checked(batch.stage, rows, _worked(batch, rows)))


def _worked(batch: Batch, rows: Sequence[Row]) -> list[list[Outcome]]:
    """The stage's answers. A row that the stage's own code stumbles over fails alone.

    What concerns every row (a user's error, the machine, a sandbox that doesn't start) is raised.
    """
    try:
        return batch.stage.work(rows, batch.settings, batch.workplace)
    except (KernelsetError, OSError, OperationalError, MemoryError, ImportError, SandboxBroken):
        raise
    except Exception as error:  # noqa: BLE001  # any bug of a stage costs its row, not the night
        if len(rows) > 1:
            return [answer for row in rows for answer in _worked(batch, [row])]
        return [[Failed("stage_error", _where(error))]]


def _where(error: Exception) -> str:
    """One line: what was raised, and at which line of ours."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def give_up(batch: Batch, detail: str) -> BatchDone:
    """Rows that nobody could do: each kills the worker that touches it."""
    rows = batch.rows.rows(batch.indices)
    return remember(batch, rows, [[Failed("worker_died", detail)] for _ in rows])


def remember(batch: Batch, rows: Sequence[Row], outcomes: Sequence[Sequence[Outcome]]) -> BatchDone:
    keyed = [
        (row_key(row, batch.stage.reads), units) for row, units in zip(rows, outcomes, strict=True)
    ]
    part = batch.memo.add(keyed)
    units = [unit for row in outcomes for unit in row]
    return BatchDone(
        part=part.name,
        rows=len(rows),
        kept=sum(isinstance(unit, Kept) for unit in units),
        failed=sum(isinstance(unit, Failed) for unit in units),
    )


def checked(
    stage: MapStage, rows: Sequence[Row], outcomes: Sequence[Sequence[Outcome]]
) -> Sequence[Sequence[Outcome]]:
    """First law: every row has an outcome, and only a stage that expands gives several."""
    if len(outcomes) != len(rows):
        raise AssertionError(f"{stage.name}: {len(rows)} rows in, {len(outcomes)} answers out")
    for row, units in zip(rows, outcomes, strict=True):
        if not units or (len(units) > 1 and not stage.expands):
            raise AssertionError(f"{stage.name}: {len(units)} outcomes for {row[stage.key]}")
    return outcomes
