"""Files that are either whole or not there: temporary name, write, fsync, check, rename."""

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StoreError
from pipeline.identity import file_digest
from pipeline.rows import Pieces

PARTIAL = ".partial-"  # prefix of everything half-written; swept at the start of a run
ROW_GROUP = 1000  # small row groups: the hub's viewer and row-wise readers stay fast


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to; on success it becomes `path`, on failure it vanishes.

    Raises:
        StoreError: the disk is full or the folder can't be written.
    """
    with _disk_troubles(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{PARTIAL}{os.getpid()}-{path.name}")
        try:
            yield partial
            _fsync(partial)
            partial.replace(path)
            _fsync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill; on success it takes the place of `path`, whole."""
    with _disk_troubles(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=path.parent))
        partial.chmod(0o755)
        try:
            yield partial
            for file in sorted(partial.rglob("*")):
                _fsync(file)
            _fsync(partial)
            if path.exists():
                doomed = partial.with_name(partial.name + "-old")
                path.rename(doomed)
                partial.rename(path)
                shutil.rmtree(doomed, ignore_errors=True)
            else:
                partial.rename(path)
            _fsync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write_table(table: pa.Table | Pieces, path: Path) -> None:
    """Writes Parquet that is byte-identical for equal tables, and reads it back to be sure.

    Raises:
        StoreError: the disk is full, or what was read back is not what was written.
    """
    with whole_file(path) as partial:
        pieces = table.make() if isinstance(table, Pieces) else iter([table])
        with pq.ParquetWriter(
            partial, table.schema, compression="zstd", write_page_index=True
        ) as writer:
            for piece in pieces:
                writer.write_table(piece, row_group_size=ROW_GROUP)
        written = pq.ParquetFile(partial)
        if written.metadata.num_rows != table.num_rows or not written.schema_arrow.equals(
            table.schema
        ):
            raise StoreError(f"{path}: what was written can't be read back; check the disk")


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Raises StoreError if the file is damaged."""
    try:
        return pq.read_table(path, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        raise StoreError(f"{path}: damaged table ({error}); delete it and run again") from error


def write_json(value: Any, path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Raises StoreError if the file is not JSON."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(f"{path}: not valid JSON ({error}); delete it and run again") from error


def file_digest_tree(folder: Path) -> dict[str, str]:
    """sha256 of every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sweep(folder: Path) -> None:
    """Removes what a killed run left half-written."""
    for path in folder.rglob(f"{PARTIAL}*"):
        if path.is_dir() and not path.is_symlink():  # a half-made `latest` is a link to a folder
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _disk_troubles(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"{path}: no space left on the disk; free some and run again"
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise StoreError(f"{path}: can't write here ({error.strerror})") from error
        raise


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
