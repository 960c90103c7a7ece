"""What a stage is: a small value that the engine wraps with storing, resuming and spreading.

A `MapStage` looks at one row at a time. The engine remembers every row's outcome under (stage,
version, settings, identity, the columns it reads), so that only new rows cost work. A `TableStage`
needs the whole table at once (duplicates, the release).

A stage never touches the store, the cluster or a progress bar.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

Row = dict[str, Any]


class Settings(BaseModel):
    """Base of every stage's settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Kept:
    """The row goes on. `columns` are those the stage adds (all of them if the stage expands)."""

    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Removed:
    """A decision against the row, with its evidence."""

    reason: str
    detail: str = ""
    matched_id: str | None = None
    metric: str | None = None
    value: float | None = None
    threshold: float | None = None
    name: str = ""  # the unit's own name where one row gives many, e.g. a class in a file


@dataclass(frozen=True)
class Failed:
    """We could not tell. Tried again in the next run, never admitted, never called removed."""

    reason: str
    detail: str = ""
    name: str = ""


Outcome = Kept | Removed | Failed


@dataclass(frozen=True)
class Workplace:
    """Where a stage may leave things, and what the engine tells it."""

    cache: Path  # the stage's own folder; survives runs; may be deleted at any time
    shared: Path  # files named by their digest that later stages need: licence texts, packages
    data: Path  # the project's data/ folder
    minimum_sandbox: str = "process"
    tell: Callable[[str], None] = lambda text: None  # a line for the person watching; it stays
    note: Callable[[str], None] = lambda text: None  # live counters beside the bar; the last counts


@dataclass(frozen=True)
class MapStage:
    """Looks at one row at a time.

    `work` gets a batch of rows (only the columns in `reads`) and gives, for each row, its
    outcomes in order: exactly one, or one or more if the stage `expands`. It is a module-level
    function because it travels to Dask workers by name; it must not depend on the batch.
    """

    name: str
    doing: str  # shown beside the progress bar
    version: int  # bump when a decision or a column changes; say why beside it
    settings: type[Settings]
    gives: pa.Schema
    reads: tuple[str, ...]
    work: Callable[[Sequence[Row], Any, Workplace], list[list[Outcome]]]
    key: str = "problem_id"
    expands: bool = False
    batch: int = 16
    identity: Callable[[Any, Path], Mapping[str, str]] = field(default=lambda settings, data: {})
    """What else decides the result, e.g. the digest of a fingerprint file: (settings, data dir)."""
    start: Callable[[Any, Workplace], pa.Table] | None = None
    """For the first stage only: the rows it starts from."""
    pins: tuple[str, ...] = ()
    """For the first stage: the columns of `start` that the release's manifest repeats."""
    choosing: tuple[str, ...] = ()
    """Settings that only choose which rows come in; a remembered row does not depend on them."""
    workers: int | None = None
    """At most this many workers, where more would disturb each other; 0: the driver's process."""
    in_driver: Callable[[Any], int] = field(default=lambda settings: 0)
    """With these settings: so many rows a batch, in the driver's process. 0: as said above."""
    resource: Callable[[Any], str] = field(default=lambda settings: "")
    """The Dask resource that these settings need, e.g. GPU: only workers that offer it get work."""
    forecast: Callable[[Sequence[Row], Any, Path], str] | None = None
    """One line on what new rows will cost, told before they are begun: (rows, settings, data dir)."""


@dataclass(frozen=True)
class History:
    """What the stages before have decided; for the stage that writes the release."""

    stages: Sequence[Mapping[str, Any]]  # per stage: its address and its counts
    removed: pa.Table
    failed: pa.Table
    recipe: Mapping[str, Any]
    previous: Path | None = None  # the release that is the latest until now


@dataclass(frozen=True)
class TableStage:
    """Looks at the whole table at once; gives one outcome per row, in order."""

    name: str
    doing: str
    version: int
    settings: type[Settings]
    gives: pa.Schema
    reads: tuple[str, ...]
    work: Callable[[Sequence[Row], Any, Workplace], list[Outcome]]
    key: str = "problem_id"
    identity: Callable[[Any, Path], Mapping[str, str]] = field(default=lambda settings, data: {})
    publish: Callable[[pa.Table, History, Any, Workplace, Path], None] | None = None
    """For the last stage only: writes the release's files into an empty folder."""


Stage = MapStage | TableStage
