"""What a run would do, and why: which part of each stage's address has changed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from pipeline.errors import KernelsetError
from pipeline.run import Plan, address_of, input_of
from pipeline.store import Result


@dataclass(frozen=True)
class State:
    """One stage as it stands."""

    stage: str
    state: str  # done, retry, changed, missing or waiting
    why: str
    rows: dict[str, int]

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def stage_states(plan: Plan) -> list[State]:
    """The state of every stage. Reads only; resolves the sources to see whether they moved."""
    states: list[State] = []
    before: Result | None = None
    waiting = ""
    for stage in plan.stages:
        found = plan.store.result(stage.name)
        rows = dict(found.rows) if found else {}
        if waiting:
            states.append(State(stage.name, "waiting", f"for {waiting}", rows))
            continue
        try:
            settings = plan.recipe.stages[stage.name]
            _, input_digest = input_of(plan, stage, before)
            wanted = address_of(stage, settings, stage.identity(settings, plan.data), input_digest)
        except KernelsetError as error:
            states.append(State(stage.name, "blocked", str(error), rows))
            waiting = stage.name
            continue
        if found is None:
            states.append(State(stage.name, "missing", "no finished result", {}))
            waiting = stage.name
        elif found.manifest["address"] != wanted:
            states.append(
                State(stage.name, "changed", _changes(found.manifest["address"], wanted), rows)
            )
            waiting = stage.name
        elif found.rows["failed"]:
            why = f"{found.rows['failed']} failed rows are tried again"
            states.append(State(stage.name, "retry", why, rows))
            before = found
        else:
            states.append(State(stage.name, "done", "", rows))
            before = found
    return states


def states_table(states: Sequence[State]) -> Table:
    table = Table(pad_edge=False)
    for name in ("stage", "state", "why"):
        table.add_column(name, overflow="fold")
    for name in ("in", "kept", "removed", "failed"):
        table.add_column(name, justify="right")
    colours = {"done": "green", "blocked": "red"}
    for state in states:
        colour = colours.get(state.state, "yellow")
        counts = [
            f"{state.rows[n]:,}" if state.rows else "" for n in ("in", "kept", "removed", "failed")
        ]
        table.add_row(state.stage, f"[{colour}]{state.state}[/{colour}]", state.why, *counts)
    return table


def _changes(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> str:
    """The keys that differ, e.g. `settings.jaccard: 0.8 → 0.7`."""
    parts = []
    for key in sorted(set(old) | set(new)):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            parts.append(_changes(was, now, f"{prefix}{key}."))
        elif key in ("input", "schema"):
            parts.append({"input": "other rows come in", "schema": "its columns changed"}[key])
        else:
            parts.append(f"{prefix}{key}: {_brief(was)} → {_brief(now)}")
    return "; ".join(parts)


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "…"
