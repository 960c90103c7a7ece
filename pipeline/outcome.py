"""What a run came to, for monitoring: `run.json` and a Prometheus text file, on failure too.

    out/run.json                    the last run
    out/runs/<run id>.json          every run
    out/metrics/kernelset.prom      for node_exporter --collector.textfile.directory=out/metrics

Each is replaced whole, so that no reader sees half a file.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.errors import KernelsetError
from pipeline.events import retire
from pipeline.files import read_json, whole_file, write_json
from pipeline.llm.store import FILE as LLM_FILE
from pipeline.llm.store import spent_between
from pipeline.run import Line, Plan

LATEST = "latest"
COUNTS = ("in", "kept", "removed", "failed")


@dataclass
class Progress:
    """What is known of a run so far; whatever ends it, this is told."""

    plan: Plan
    began: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)
    lines: list[Line] = field(default_factory=list)
    release: tuple[Path, bool] | None = None


@contextlib.contextmanager
def recorded(progress: Progress) -> Iterator[None]:
    """Writes what the run came to when the block ends, however it ends."""
    events = progress.plan.events
    events.tell("run_started", recipe=progress.plan.recipe.name)
    trouble: BaseException | None = None
    try:
        yield
    except BaseException as error:
        trouble = error
        raise
    finally:
        told = outcome(progress, trouble)
        events.tell("run_ended", **{k: told[k] for k in ("outcome", "error", "seconds", "release")})
        # A disk that is full must not hide the error which says so.
        with contextlib.suppress(KernelsetError, OSError) if trouble else contextlib.nullcontext():
            record(told, progress.plan.store.root)


def outcome(progress: Progress, trouble: BaseException | None = None) -> dict[str, Any]:
    """The run as `run.json` tells it."""
    plan, lines, release = progress.plan, progress.lines, progress.release
    newest = plan.store.root / LATEST
    made = _made(newest)
    return {
        "run": plan.events.run,
        "recipe": plan.recipe.name,
        "started": _iso(progress.began),
        "ended": _iso(time.time()),
        "seconds": round(time.monotonic() - progress.clock, 1),
        "outcome": _word(release, trouble),
        "error": _first_line(trouble),
        "stages": [line.plain() for line in lines],
        "failed_rows": sum(line.result.rows["failed"] for line in lines),
        "cost": _cost(plan, progress.began),
        "release": str(release[0]) if release else None,
        "new_release": bool(release and release[1]),
        "newest_release": newest.resolve().name if made else None,
        "newest_release_made": _iso(made) if made else None,
        "newest_release_age_s": round(max(0.0, time.time() - made)) if made else None,
        "newest_release_rows": _rows(newest) if made else None,
        "sources": list(lines[0].pins) if lines else [],
    }


def record(told: Mapping[str, Any], root: Path) -> None:
    """Writes the files; see above."""
    write_json(told, root / "runs" / f"{told['run']}.json")
    write_json(told, root / "run.json")
    with whole_file(root / "metrics" / "kernelset.prom") as partial:
        partial.write_text(prometheus(told), encoding="utf-8")
    retire(root / "runs", "*.json")
    retire(root / "logs", "*.jsonl")


def prometheus(told: Mapping[str, Any]) -> str:
    """The outcome in the text format that node_exporter's textfile collector reads."""
    good = told["outcome"] in ("published", "unchanged", "stopped")
    stages: Sequence[Mapping[str, Any]] = told["stages"]
    families: list[tuple[str, str, list[tuple[Mapping[str, str], float | None]]]] = [
        ("run_info", "The last run, its recipe and what it came to.",
         [({k: told[k] for k in ("run", "recipe", "outcome")}, 1)]),
        ("run_success", "1 if the last run ended well, 0 if not.", [({}, int(good))]),
        ("run_end_timestamp_seconds", "When the last run ended.", [({}, _unix(told["ended"]))]),
        ("run_duration_seconds", "How long the last run took.", [({}, told["seconds"])]),
        ("run_failed_rows", "Rows that failed and are tried again.", [({}, told["failed_rows"])]),
        ("run_llm_dollars", "What the run paid for language models.",
         [({}, told["cost"]["dollars"])]),
        ("run_llm_requests", "Requests to language models.", [({}, told["cost"]["requests"])]),
        ("stage_rows", "Rows of each stage by outcome.",
         [({"stage": s["stage"], "outcome": n}, s[n]) for s in stages for n in COUNTS]),
        ("stage_new_rows", "Rows that cost work in the last run.",
         [({"stage": s["stage"]}, s["new"]) for s in stages]),
        ("stage_duration_seconds", "How long each stage took.",
         [({"stage": s["stage"]}, s["seconds"]) for s in stages]),
        ("release_timestamp_seconds", "When the newest release was made; its age is time() - this.",
         [({}, _unix(told["newest_release_made"]))]),
        ("release_rows", "Rows of the newest release.", [({}, told["newest_release_rows"])]),
    ]  # fmt: skip
    text = []
    for name, help_text, samples in families:
        there = [(labels, value) for labels, value in samples if value is not None]
        if there:
            text += [f"# HELP kernelset_{name} {help_text}", f"# TYPE kernelset_{name} gauge"]
        text += [f"kernelset_{name}{_labels(labels)} {value}" for labels, value in there]
    return "\n".join(text) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    escaped = {
        name: str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


def _word(release: tuple[Path, bool] | None, trouble: BaseException | None) -> str:
    """published, unchanged, stopped (--until), interrupted, or the kind of trouble."""
    if isinstance(trouble, KeyboardInterrupt):
        return "interrupted"
    if trouble is not None:
        return type(trouble).__name__
    if release is None:
        return "stopped"
    return "published" if release[1] else "unchanged"


def _first_line(trouble: BaseException | None) -> str:
    return "" if trouble is None else (str(trouble).splitlines() or [type(trouble).__name__])[0]


def _cost(plan: Plan, since: float) -> dict[str, float]:
    """What the stages paid for language models since then."""
    spent = [
        spent_between(folder, since)
        for folder in (plan.store.cache(stage.name) for stage in plan.stages)
        if (folder / LLM_FILE).exists()
    ]
    return {
        "requests": sum(one.requests for one in spent),
        "dollars": round(sum(one.dollars for one in spent), 6),
    }


def _made(newest: Path) -> float | None:
    """When the newest release was made: its name says it, whatever the file system's clock does."""
    try:
        stamp = newest.resolve(strict=True).name.partition("-")[0]
        return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except (OSError, ValueError):
        return None


def _rows(newest: Path) -> int | None:
    try:
        return int(read_json(newest / "manifest.json")["stages"][-1]["rows"]["kept"])
    except (OSError, KernelsetError, LookupError, TypeError):
        return None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _unix(iso: str | None) -> float | None:
    return datetime.fromisoformat(iso).timestamp() if iso else None
