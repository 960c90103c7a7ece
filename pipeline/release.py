"""Publishing: a complete folder appears under its final name, then `latest` points to it.

A release is named by the time it was made and by its content. Equal content is never published
twice, so a nightly run that finds nothing new leaves nothing new.
"""

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import EmptyRun, UsageError
from pipeline.files import file_digest_tree, read_json, whole_folder, write_json, write_table
from pipeline.guard import Rails, check_rails
from pipeline.identity import digest
from pipeline.run import Line, Plan
from pipeline.stage import History, TableStage

LATEST = "latest"
PINNED = "PINNED"
PACKAGES = ("kernelset", "torch", "transformers", "sentence-transformers", "pyarrow", "faiss-cpu",
            "datasketch", "numpy", "dask")  # fmt: skip


def publish(plan: Plan, lines: Sequence[Line], accept: str = "") -> tuple[Path, bool]:
    """Publishes a finished run; gives the release's folder and whether it is new.

    Args:
        accept: why a release that the guard rails would stop is published all the same.

    Raises:
        EmptyRun: no row reached the end.
        GuardStopped: the release lost too much against the one before.
    """
    stage, last = plan.stages[-1], lines[-1]
    assert isinstance(stage, TableStage) and stage.publish is not None
    if not last.result.rows["kept"]:
        raise EmptyRun(
            "no problem reached the release; the earlier one stays. "
            f"See why: {last.result.folder.parent.parent}/*/result/removed.parquet"
        )
    history = _history(plan, lines)
    content = digest([[line.result.manifest for line in lines], history.recipe, environment()])
    latest = plan.store.root / LATEST
    if (latest / "manifest.json").exists() and _content(latest) == content:
        return latest.resolve(), False

    kept = last.result.table("kept")
    if not accept:
        engine = plan.recipe.engine
        rails = Rails(engine.max_shrink, engine.max_source_shrink)
        check_rails(latest, plan.recipe.name, kept, rails, _lost(lines[0]))

    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{content[:8]}"
    folder = plan.store.root / "releases" / name
    with whole_folder(folder) as partial:
        stage.publish(
            kept,
            history,
            plan.recipe.stages[stage.name],
            plan.workplace(stage),
            partial,
        )
        write_table(history.removed, partial / "ledger" / "removed.parquet")
        write_table(history.failed, partial / "ledger" / "failed.parquet")
        manifest = {
            "content": content,
            "recipe": history.recipe,
            "environment": environment(),
            "stages": history.stages,
            "sources": list(lines[0].pins),
            "accepted": accept,
            "minimum_sandbox": plan.recipe.engine.minimum_sandbox,
            "files": file_digest_tree(partial),
        }
        write_json(manifest, partial / "manifest.json")
    _point(latest, folder)
    _retire(plan.store.root, plan.recipe.engine.keep_releases)
    return folder, True


def environment() -> dict[str, Any]:
    """The versions that decide what comes out."""
    return {
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def releases(root: Path) -> list[Path]:
    """All complete releases, oldest first."""
    return sorted(path.parent for path in (root / "releases").glob("[0-9]*/manifest.json"))


def find_release(wanted: Path, root: Path) -> Path:
    """A release's folder, from a path or from a name such as `latest`.

    Raises:
        UsageError: there is none.
    """
    for folder in (wanted, root / wanted, root / "releases" / wanted):
        if (folder / "manifest.json").exists():
            return folder.resolve()
    raise UsageError(f"{wanted}: no such release; list them with: kernelset releases --out {root}")


def _retire(root: Path, keep: int) -> None:
    """Deletes the oldest releases beyond `keep`; a file named PINNED in a release protects it."""
    for folder in releases(root)[:-keep]:
        if not (folder / PINNED).exists():
            shutil.rmtree(folder)


def _lost(first: Line) -> dict[str, str]:
    """Why a source gave nothing: what the first stage says of those that failed."""
    failed = first.result.table("failed").to_pylist()
    return {row["source_name"]: f"{row['reason']}: {row['detail']}" for row in failed}


def _history(plan: Plan, lines: Sequence[Line]) -> History:
    latest = plan.store.root / LATEST
    return History(
        stages=[
            {"address": line.result.manifest["address"], "rows": line.result.rows} for line in lines
        ],
        removed=pa.concat_tables([line.result.table("removed") for line in lines]),
        failed=pa.concat_tables([line.result.table("failed") for line in lines]),
        recipe=plan.recipe.plain(),
        previous=latest.resolve() if (latest / "manifest.json").exists() else None,
    )


def _content(folder: Path) -> str:
    return str(read_json(folder / "manifest.json").get("content"))


def _point(link: Path, folder: Path) -> None:
    """`latest` moves in one step: a reader sees the old release or the new one."""
    new = link.with_name(f".partial-{os.getpid()}-{link.name}")
    new.unlink(missing_ok=True)
    new.symlink_to(folder.relative_to(link.parent), target_is_directory=True)
    new.replace(link)
