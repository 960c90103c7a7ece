"""Decides one row again, alone: nothing remembered is used and nothing is stored."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from pipeline.batch import checked
from pipeline.errors import UsageError
from pipeline.run import Plan
from pipeline.stage import Kept, MapStage, Outcome, Row


def decide_again(plan: Plan, name: str, row_id: str) -> list[Outcome]:
    """What a stage says of a row of the last run, in a folder of its own.

    Args:
        plan: the recipe that decides, and the store that holds the row.
        name: the stage.
        row_id: the row's whole key as that stage knows it: a problem_id, for extract a file_id.

    Raises:
        UsageError: no such stage, one that decides over the whole table, or no such row before it.
    """
    names = [stage.name for stage in plan.stages]
    if name not in names:
        raise UsageError(f"no stage {name!r}; there are: {', '.join(names)}")
    stage = plan.stages[names.index(name)]
    if not isinstance(stage, MapStage) or stage.start is not None:
        raise UsageError(f"{name} decides over all rows together: it can't decide one alone")
    row = _row_before(plan, names[names.index(name) - 1], stage, row_id)
    with tempfile.TemporaryDirectory(prefix="kernelset-again-") as folder:
        place = replace(plan.workplace(stage), cache=Path(folder))
        settings = plan.recipe.stages[name]
        [outcomes] = checked(stage, [row], stage.work([row], settings, place))
    return list(outcomes)


def told(outcome: Outcome) -> str:
    """An outcome in one line."""
    if isinstance(outcome, Kept):
        return "kept"
    word = type(outcome).__name__.lower()
    numbers = ""
    if getattr(outcome, "metric", None):
        numbers = f" ({outcome.metric} {outcome.value}, limit {outcome.threshold})"  # type: ignore[union-attr]
    return f"{word}: {outcome.reason} {outcome.detail}{numbers}".strip()


def _row_before(plan: Plan, before: str, stage: MapStage, row_id: str) -> Row:
    result = plan.store.result(before)
    table = result.table("kept") if result else None
    if table is None or stage.key not in table.schema.names:
        raise UsageError(f"{stage.name} has no rows to decide: run up to {before} first")
    found = table.filter(pc.equal(table[stage.key], row_id)).select(list(stage.reads)).to_pylist()
    if not found:
        raise UsageError(f"{row_id[:12]} did not come as far as {stage.name}")
    return dict(found[0])
