"""What a person sees while a run goes on: bars on a terminal, plain lines without one."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

QUIET_S = 15  # seconds between plain lines where there is no terminal


class Bar:
    """One stage's progress."""

    def __init__(self, console: Console, progress: Progress | None, name: str, total: int) -> None:
        self._console, self._progress, self.name = console, progress, name
        self._total, self._done, self._kept, self._failed = total, 0, 0, 0
        self._spoke = time.monotonic()
        self.noted = ""
        self._task = progress.add_task(name, total=total, note="") if progress else None

    def advance(self, rows: int, kept: int, failed: int) -> None:
        self._done, self._kept, self._failed = (
            self._done + rows,
            self._kept + kept,
            self._failed + failed,
        )
        self._show(rows)

    def note(self, text: str) -> None:
        """Live counters of the stage's own, e.g. tokens and cost; may come from another thread."""
        self.noted = text
        self._show(0)

    def _show(self, rows: int) -> None:
        note = f"{self._kept:,} kept" + (f", {self._failed:,} failed" if self._failed else "")
        if self.noted:
            note += f" · {self.noted}"
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=rows, note=note)
        elif time.monotonic() - self._spoke > QUIET_S:
            self._spoke = time.monotonic()
            self._console.print(f"{self.name}: {self._done:,} of {self._total:,}, {note}")


class Watch:
    """The console of a run."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._noted, self._waiting = -float("inf"), ""

    def tell(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def note(self, text: str) -> bool:
        """A stage's own line, at most every QUIET_S seconds; whether it was shown now."""
        if time.monotonic() - self._noted < QUIET_S:
            self._waiting = text
            return False
        self._noted, self._waiting = time.monotonic(), ""
        self.console.print(text, highlight=False, markup=False)
        return True

    def last_note(self) -> str:
        """At the end of a stage: shows and gives the note that still waits."""
        text, self._waiting, self._noted = self._waiting, "", -float("inf")
        if text:
            self.console.print(text, highlight=False, markup=False)
        return text

    @contextmanager
    def bar(self, name: str, doing: str, total: int) -> Iterator[Bar]:
        if not self.console.is_terminal:
            self.tell(f"{name}: {doing}, {total:,} rows")
            bar = Bar(self.console, None, name, total)
            try:
                yield bar
            finally:
                self._last_note(bar)
            return
        with Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description:<14}"),
            TextColumn(doing),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        ) as progress:
            bar = Bar(self.console, progress, name, total)
            try:
                yield bar
            finally:
                self._last_note(bar)

    def _last_note(self, bar: Bar) -> None:
        """What a stage counted outlives its bar."""
        if bar.noted:
            self.tell(f"{bar.name}: {bar.noted}")


def funnel_table(funnel: Sequence[Mapping[str, Any]]) -> Table:
    """stage: in / kept / removed / failed / seconds."""
    table = Table(title=None, pad_edge=False)
    table.add_column("stage")
    for name in ("in", "kept", "removed", "failed", "new rows", "seconds"):
        table.add_column(name, justify="right")
    for line in funnel:
        table.add_row(
            str(line["stage"]),
            *(f"{line[name]:,}" for name in ("in", "kept", "removed")),
            f"[red]{line['failed']:,}[/red]" if line["failed"] else "0",
            "unchanged" if line["unchanged"] else f"{line['new']:,}",
            f"{line['seconds']:.1f}",
        )
    return table
