"""Publishing: a complete folder appears under its final name, then `latest` points to it.

A release is named by the time it was made and by its content. Equal content is never published
twice, so a nightly run that finds nothing new leaves nothing new.
"""

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import EmptyRun
from pipeline.files import file_digest_tree, read_json, whole_folder, write_json, write_table
from pipeline.identity import digest
from pipeline.run import Line, Plan
from pipeline.stage import History, TableStage

LATEST = "latest"
PACKAGES = ("kernelset", "torch", "transformers", "sentence-transformers", "pyarrow", "faiss-cpu",
            "datasketch", "numpy", "dask")  # fmt: skip


def publish(plan: Plan, lines: Sequence[Line]) -> tuple[Path, bool]:
    """Publishes a finished run; gives the release's folder and whether it is new.

    Raises:
        EmptyRun: no row reached the end.
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

    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{content[:8]}"
    folder = plan.store.root / "releases" / name
    with whole_folder(folder) as partial:
        stage.publish(
            last.result.table("kept"),
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
            "minimum_sandbox": plan.recipe.engine.minimum_sandbox,
            "files": file_digest_tree(partial),
        }
        write_json(manifest, partial / "manifest.json")
    _point(latest, folder)
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


def _history(plan: Plan, lines: Sequence[Line]) -> History:
    return History(
        stages=[
            {"address": line.result.manifest["address"], "rows": line.result.rows} for line in lines
        ],
        removed=pa.concat_tables([line.result.table("removed") for line in lines]),
        failed=pa.concat_tables([line.result.table("failed") for line in lines]),
        recipe=plan.recipe.plain(),
    )


def _content(folder: Path) -> str:
    return str(read_json(folder / "manifest.json").get("content"))


def _point(link: Path, folder: Path) -> None:
    """`latest` moves in one step: a reader sees the old release or the new one."""
    new = link.with_name(f".partial-{os.getpid()}-{link.name}")
    new.unlink(missing_ok=True)
    new.symlink_to(folder.relative_to(link.parent), target_is_directory=True)
    new.replace(link)
