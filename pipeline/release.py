"""Publishing: a complete folder appears under its final name, then `latest` points to it.

A release is named by the time it was made and by its content. Equal content is never published
twice, so a nightly run that finds nothing new leaves nothing new.
"""

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import EmptyRun, StoreError, UsageError
from pipeline.files import (
    SEAL,
    disk_troubles,
    file_digest_tree,
    read_json,
    read_sealed,
    whole_folder,
    write_sealed,
    write_table,
)
from pipeline.guard import Rails, check_rails
from pipeline.identity import digest, file_digest
from pipeline.run import Line, Plan
from pipeline.stage import History, TableStage

LATEST = "latest"
PINNED = "PINNED"
STAMP = "%Y%m%dT%H%M%SZ"
PACKAGES = ("kernelset", "torch", "transformers", "sentence-transformers", "pyarrow", "faiss-cpu",
            "datasketch", "numpy", "dask")  # fmt: skip


def publish(plan: Plan, lines: Sequence[Line], accept: str = "") -> tuple[Path, bool]:
    """Publishes a finished run; gives the release's folder and whether it is new.

    Args:
        accept: why a release that the guard rails would stop is published all the same.

    Raises:
        EmptyRun: no row reached the end.
        GuardStopped: the release lost too much against the one before.
        StoreError: the disk is full or read-only, or the release before is damaged.
    """
    with disk_troubles(plan.store.root):
        return _publish(plan, lines, accept)


def _publish(plan: Plan, lines: Sequence[Line], accept: str) -> tuple[Path, bool]:
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
    damage = _damage(latest)
    if not damage and (known := _known(plan.store.root, content)):
        is_new = known != latest.resolve()
        if is_new:  # a run was killed before it could say so
            _point(latest, known)
        return known, is_new

    kept = last.result.table("kept")
    if damage:
        _tell_or_refuse(plan, damage, accept or _made_of(latest, content))
        history = replace(history, previous=None)
    elif not accept:
        engine = plan.recipe.engine
        rails = Rails(engine.max_shrink, engine.max_source_shrink)
        check_rails(latest, plan.recipe.name, kept, rails, _lost(lines[0]))

    name = _name(plan.store.root, content)
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
        write_sealed(manifest, partial / "manifest.json")
    _point(latest, folder)
    _retire(plan.store.root, plan.recipe.engine.keep_releases)
    return folder, True


def check_release(folder: Path, under: str = "") -> dict[str, Any]:
    """The manifest of a release whose files are all what it says.

    Args:
        under: only those whose names begin so, e.g. `data/`.

    Raises:
        StoreError: a file is missing, damaged or was changed by hand, the manifest included.
    """
    path = folder.resolve() / "manifest.json"
    manifest: dict[str, Any] = read_json(path)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise StoreError(f"{path}: not the manifest of a release")
    if SEAL in manifest:  # releases of earlier kernelsets have none
        manifest = read_sealed(path)
    for name, wanted in manifest["files"].items():
        if not name.startswith(under):
            continue
        file = path.parent / name
        if not file.is_file() or file_digest(file) != wanted:
            raise StoreError(f"{file}: missing, damaged or changed by hand")
    return manifest


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
    latest = (root / LATEST).resolve()
    for folder in releases(root)[:-keep]:
        if folder != latest and not (folder / PINNED).exists():
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


def _damage(latest: Path) -> str:
    """What is wrong with the latest release; nothing if there is none."""
    try:
        if latest.is_symlink():
            check_release(latest)
    except (StoreError, OSError) as error:
        return str(error)
    return ""


def _tell_or_refuse(plan: Plan, damage: str, go_on: str | bool) -> None:
    if not go_on:
        raise StoreError(
            f"{damage}; the new release can't be compared with it: look at it, then publish anyway "
            "with --accept 'reason'"
        )
    plan.watch.tell(f"{damage}; it is published again")


def _known(root: Path, content: str) -> Path | None:
    """The release with this content, if it is the latest or later than the latest."""
    latest = (root / LATEST).resolve()
    for folder in reversed(releases(root)):
        if _made_of(folder, content):
            with contextlib.suppress(StoreError):
                if check_release(folder)["content"] == content:
                    return folder
        if folder == latest:
            break
    return None


def _name(root: Path, content: str) -> str:
    """By time and content; later than every earlier name, also where the clock was put back."""
    now = datetime.now(UTC)
    earlier = [_made(folder) for folder in releases(root)]
    if made := [when for when in earlier if when is not None]:
        now = max(now, max(made) + timedelta(seconds=1))
    return f"{now:{STAMP}}-{content[:8]}"


def _made(folder: Path) -> datetime | None:
    try:
        return datetime.strptime(folder.name.partition("-")[0], STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def _made_of(folder: Path, content: str) -> bool:
    """Whether a release was made of this, as far as its name tells."""
    return folder.resolve().name.partition("-")[2] == content[:8]


def _point(link: Path, folder: Path) -> None:
    """`latest` moves in one step: a reader sees the old release or the new one."""
    new = link.with_name(f".partial-{os.getpid()}-{link.name}")
    new.unlink(missing_ok=True)
    new.symlink_to(folder.relative_to(link.parent), target_is_directory=True)
    new.replace(link)
