"""A row's way through the stages, told from the store: kept, removed or failed, and why."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.syntax import Syntax

from pipeline.errors import UsageError
from pipeline.stage import Stage
from pipeline.store import Store

HIDDEN = frozenset({"code", "text", "baselines", "generated_code"})  # long; shown elsewhere


@dataclass(frozen=True)
class Step:
    """What one stage said of the row."""

    stage: str
    outcome: str  # kept, removed or failed
    told: dict[str, Any]


@dataclass(frozen=True)
class Story:
    """Everything the store knows of a row."""

    row_id: str
    name: str
    steps: list[Step] = field(default_factory=list)
    code: str = ""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def story(wanted: str, stages: Sequence[Stage], store: Store) -> Story:
    """The story of the one row whose id starts with `wanted`, or whose class is called so.

    Raises:
        UsageError: none or several rows fit.
    """
    row_id, name = _find(wanted, stages, store)
    steps, code, known = [], "", set[str]()
    for stage in stages:
        result = store.result(stage.name)
        if result is None:
            continue
        kept = result.table("kept")
        for row in _where(kept, "problem_id", row_id) + _where(kept, "file_id", row_id):
            code = row.get("code", code)
            new = {k: v for k, v in row.items() if k not in known | HIDDEN}
            steps.append(Step(stage.name, "kept", new))
            known |= set(row)
        for outcome in ("removed", "failed"):
            for row in _where(result.table(outcome), "row_id", row_id):
                told = {
                    k: v for k, v in row.items() if k not in ("stage", "row_id") and v is not None
                }
                steps.append(Step(stage.name, outcome, told))
    return Story(row_id, name, steps, code)


def print_story(told: Story, console: Console, code: bool) -> None:
    console.print(f"[bold]{told.name}[/bold]  {told.row_id}")
    colours = {"kept": "green", "removed": "yellow", "failed": "red"}
    for step in told.steps:
        console.print(f"\n[{colours[step.outcome]}]{step.outcome}[/] by [bold]{step.stage}[/bold]")
        for key, value in step.told.items():
            console.print(f"  {key:<16} {value}", highlight=False, markup=False, soft_wrap=True)
    if code and told.code:
        console.print()
        console.print(Syntax(told.code, "python", word_wrap=True))
    last = told.steps[-1].stage if told.steps else ""
    if last:
        line = f"kernelset explain {told.row_id} --again STAGE"
        console.print(f"\ndecide it again, alone:  {line}   (e.g. {last})", soft_wrap=True)


def _find(wanted: str, stages: Sequence[Stage], store: Store) -> tuple[str, str]:
    found: dict[str, str] = {}
    for stage in stages:
        result = store.result(stage.name)
        if result is None:
            continue
        for table, ids, names in (
            (result.table("kept"), ("problem_id", "file_id"), ("class_name", "path")),
            (result.table("removed"), ("row_id",), ("name",)),
            (result.table("failed"), ("row_id",), ("name",)),
        ):
            key = next((name for name in ids if name in table.schema.names), None)
            if key is None:
                continue
            label = next((name for name in names if name in table.schema.names), key)
            mask = pc.or_(pc.starts_with(table[key], wanted), pc.equal(table[label], wanted))
            found_here = table.filter(mask)
            names_here = found_here[label].to_pylist()
            for row_id, name in zip(found_here[key].to_pylist(), names_here, strict=True):
                found.setdefault(row_id, name)
    if not found:
        raise UsageError(
            f"no row starts with {wanted!r} in {store.root}; run first, or check --out"
        )
    if len(found) > 1:
        some = ", ".join(f"{key[:12]} ({name})" for key, name in sorted(found.items())[:8])
        raise UsageError(
            f"{wanted!r} fits {len(found)} rows: {some}{', …' if len(found) > 8 else ''}"
        )
    return next(iter(found.items()))


def _where(table: pa.Table, column: str, value: str) -> list[dict[str, Any]]:
    if column not in table.schema.names:
        return []
    rows: list[dict[str, Any]] = table.filter(pc.equal(table[column], value)).to_pylist()
    return rows
