"""A folder that is taken over whole must be new, empty, or an earlier one of ours."""

from collections.abc import Callable
from pathlib import Path

from pipeline.errors import UsageError


def check_replaceable(folder: Path, ours: Callable[[Path], bool]) -> None:
    """Raises UsageError if the folder holds something and `ours` does not know it as our own."""
    empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not empty and not ours(folder):
        raise UsageError(f"{folder}: holds other things; choose another --out")
