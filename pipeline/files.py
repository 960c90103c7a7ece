"""Files that are either whole or not there: temporary name, write, fsync, check, rename."""

import contextlib
import errno
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StoreError
from pipeline.identity import digest, file_digest
from pipeline.rows import Pieces

PARTIAL = ".partial-"  # prefix of everything half-written; swept at the start of a run
ROW_GROUP = 1000  # small row groups: the hub's viewer and row-wise readers stay fast
SEAL = "seal"  # key of a sealed JSON file: the digest of all its other keys
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_HERE = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_FSYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # some network and user-space file systems


@contextlib.contextmanager
def whole_file(path: Path, final: Callable[[Path], Path] | None = None) -> Iterator[Path]:
    """A temporary name to write to; on success it becomes `path`, on failure it vanishes.

    Args:
        final: gives the name that it gets instead, from what was written.

    Raises:
        StoreError: the disk is full or the folder can't be written.
    """
    with disk_troubles(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not the process's number: workers of two machines may share it.
        partial = path.with_name(f"{PARTIAL}{secrets.token_hex(6)}-{path.name}")
        try:
            yield partial
            _fsync(partial)
            partial.replace(final(partial) if final else path)
            _fsync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill; on success it takes the place of `path`, whole."""
    with disk_troubles(path):
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


def write_table(
    table: pa.Table | Pieces, path: Path, final: Callable[[Path], Path] | None = None
) -> None:
    """Writes Parquet that is byte-identical for equal tables, and reads it back to be sure.

    Raises:
        StoreError: the disk is full, or what was read back is not what was written.
    """
    with whole_file(path, final) as partial:
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


def write_sealed(value: Mapping[str, Any], path: Path) -> None:
    """JSON that tells if it was changed afterwards."""
    write_json({**value, SEAL: digest(dict(value))}, path)


def read_sealed(path: Path) -> dict[str, Any]:
    """What was sealed, without its seal.

    Raises:
        StoreError: the file is not JSON, has no seal, or was changed after it was sealed.
    """
    value = read_json(path)
    if not isinstance(value, dict) or value.pop(SEAL, None) != digest(value):
        raise StoreError(f"{path}: changed after it was written")
    return value


def file_digest_tree(folder: Path) -> dict[str, str]:
    """sha256 of every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@contextlib.contextmanager
def disk_troubles(path: Path) -> Iterator[None]:
    """What a disk or a file system refuses becomes one line that names the path.

    Raises:
        StoreError: the disk is full, or the folder can't be written.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise _full(path) from error
        if error.errno in NOT_HERE:
            raise StoreError(f"{path}: can't write here ({error.strerror})") from error
        if error.errno == errno.EIO:
            raise StoreError(f"{path}: the disk fails ({error.strerror}); check it") from error
        raise
    except sqlite3.OperationalError as error:  # of a stage that keeps its own in SQLite
        if "disk is full" in str(error):
            raise _full(path) from error
        if "readonly" in str(error) or "unable to open" in str(error):
            raise StoreError(f"{path}: can't write here ({error})") from error
        raise


def _full(path: Path) -> StoreError:
    return StoreError(f"{path}: no space left on the disk; free some and run again")


def sweep(folder: Path) -> None:
    """Removes what a killed run left half-written."""
    for path in folder.rglob(f"{PARTIAL}*"):
        if path.is_dir() and not path.is_symlink():  # a half-made `latest` is a link to a folder
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _fsync(path: Path) -> None:
    """To the disk, where the file system can. Where it can't, digests find what a power cut lost."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in NO_FSYNC:
            raise
    finally:
        os.close(handle)
