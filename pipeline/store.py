"""Where results live: one folder a stage, each result addressed by what decides it.

    out/
      store/<stage>/result/     kept.parquet removed.parquet failed.parquet manifest.json
      store/<stage>/memo-<id>/  the memory of a map stage (pipeline/memo.py)
      store/<stage>/cache/      the stage's own folder: downloads, vectors, answers
      releases/  latest  runs/  lock

The manifest is written last and is the only sign that a result is complete.
"""

import contextlib
import errno
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from pipeline.errors import StoreBusy, StoreError
from pipeline.files import (
    NO_ROOM,
    PARTIAL,
    disk_troubles,
    read_json,
    read_sealed,
    read_table,
    sweep,
    whole_folder,
    write_json,
    write_sealed,
    write_table,
)
from pipeline.identity import file_digest, short
from pipeline.rows import Pieces
from pipeline.stage import MapStage, Settings, Stage

LAYOUT = 1  # bump when the store's layout changes; an older kernelset refuses a newer store
TABLES = ("kept", "removed", "failed")


@dataclass(frozen=True)
class Result:
    """A finished stage: its tables, and the manifest that vouches for them."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Identity of the rows that go on."""
        return str(self.manifest["files"]["kept.parquet"])

    @property
    def rows(self) -> Mapping[str, int]:
        """Counts by outcome: in, kept, removed, failed."""
        return dict(self.manifest["rows"])

    @property
    def kept_path(self) -> Path:
        return self.folder / "kept.parquet"

    @property
    def columns(self) -> list[str]:
        """The names of the kept rows' columns."""
        return list(pq.read_schema(self.kept_path).names)

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        return read_table(self.folder / f"{name}.parquet", columns)


class Store:
    """The folder `out/`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def stage_folder(self, stage: str) -> Path:
        return self.root / "store" / stage

    def cache(self, stage: str) -> Path:
        return self.stage_folder(stage) / "cache"

    def memo(self, stage: MapStage, settings: Settings, identity: Mapping[str, str]) -> Path:
        """The memo of a stage under what decides a row's outcome beside the row itself."""
        deciding = settings.model_dump(mode="json", exclude=set(stage.choosing))
        name = short([stage.name, stage.version, deciding, identity, stage.gives.names])
        return self.stage_folder(stage.name) / f"memo-{name}"

    def result(self, stage: str) -> Result | None:
        """The stage's finished result, whole and undamaged; None if there is none."""
        folder = self.stage_folder(stage) / "result"
        if not (folder / "manifest.json").exists():
            return None
        try:
            manifest = read_sealed(folder / "manifest.json")
            intact = all(
                file_digest(folder / name) == wanted for name, wanted in manifest["files"].items()
            )
        except (OSError, StoreError, KeyError, TypeError):
            return None
        return Result(folder, manifest) if intact else None

    def save(
        self,
        stage: Stage,
        address: Mapping[str, Any],
        tables: Mapping[str, pa.Table | Pieces],
        units: int,
    ) -> Result:
        """Writes a stage's result whole, in place of the one before."""
        folder = self.stage_folder(stage.name) / "result"
        counts = {name: tables[name].num_rows for name in TABLES}
        if units != sum(counts.values()):
            raise AssertionError(f"{stage.name}: {units} rows in, {counts} out: a row was lost")
        with whole_folder(folder) as partial:
            for name in TABLES:
                write_table(tables[name], partial / f"{name}.parquet")
            manifest = {
                "address": address,
                "rows": {"in": units, **counts},
                "files": {
                    f"{name}.parquet": file_digest(partial / f"{name}.parquet") for name in TABLES
                },
            }
            write_sealed(manifest, partial / "manifest.json")
        return Result(folder, manifest)

    def prepare(self) -> None:
        """Makes the folder, sweeps what a killed run left, refuses what it can't work on.

        Raises:
            StoreError: another layout, a disk that is full or read-only, or a file system without
                symbolic links: `latest` is one, and it is better to know that before hours of work.
        """
        with disk_troubles(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            mark = self.root / "layout.json"
            if mark.exists():
                _check_layout(mark)
            else:
                write_json({"layout": LAYOUT}, mark)
            sweep(self.root)
            _try_link(self.root / f"{PARTIAL}link")

    @contextlib.contextmanager
    def lock(self, run: str = "") -> Iterator[None]:
        """Only one run at a time.

        The kernel's lock dies with its process, so none is ever stale: what a killed run left of
        `lock.json` is taken over.

        Raises:
            StoreBusy: says who holds it, and since when.
        """
        lock, owner = FileLock(self.root / "lock"), self.root / "lock.json"
        try:
            with disk_troubles(self.root):
                self.root.mkdir(parents=True, exist_ok=True)
                lock.acquire(timeout=0)
        except Timeout:
            raise StoreBusy(f"{self.root} is in use by {_owner(owner)}") from None
        try:
            who = {"pid": os.getpid(), "host": socket.gethostname(), "run": run}
            write_json(who | {"since": time.time()}, owner)
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()


def _check_layout(mark: Path) -> None:
    found = read_json(mark)
    layout = found.get("layout") if isinstance(found, dict) else None
    if layout != LAYOUT:
        raise StoreError(
            f"{mark.parent}: made by another kernelset (layout {layout}, this is {LAYOUT}); "
            "use another --out or delete it"
        )


def _try_link(link: Path) -> None:
    try:
        link.symlink_to("nowhere")
    except OSError as error:
        if error.errno in (*NO_ROOM, errno.EROFS):
            raise
        raise StoreError(
            f"{link.parent}: this file system has no symbolic links ({error.strerror}); "
            "use an --out on another"
        ) from error
    link.unlink()


def _owner(file: Path) -> str:
    """Who holds the lock and for how long, as far as the file can tell."""
    try:
        who = json.loads(file.read_text())
        minutes = max(0.0, time.time() - who["since"]) / 60
        return f"process {who['pid']} on {who['host']}, for {minutes:.0f} minutes"
    except (OSError, ValueError, LookupError, TypeError):
        return "process ? (it does not say which)"
