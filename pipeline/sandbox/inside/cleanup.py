"""Removes a folder that crawled code has had in its hands."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def remove_tree(top: str) -> None:
    """Removes `top`, also what a program has made unreadable; no process may be at work in it.

    Only real folders get a new mode: set through a symlink, it would land outside.
    """
    with contextlib.suppress(OSError):
        Path(top).chmod(0o700)
    for folder, names, _ in os.walk(top):  # goes down after this, and follows no link
        for place in (Path(folder) / name for name in names):
            with contextlib.suppress(OSError):
                if not place.is_symlink():
                    place.chmod(0o700)
    shutil.rmtree(top, ignore_errors=True)
