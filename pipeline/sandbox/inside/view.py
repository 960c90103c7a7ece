"""The part of the file system that a run may see."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
    "/etc/localtime",
)  # fmt: skip
"""Shared libraries and a compiler's files, on the usual distributions."""
FACTS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
"""What OpenMP, oneDNN and cpuinfo read to count cores."""
PROGRAMS = ("/usr", "/lib", "/lib64", "/bin")
"""Where a compiler and its parts are started from."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PROC_FACTS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/self")
"""What may be read of a /proc that shows processes of others."""


def python_folders() -> list[str]:
    """Gives the folders of the interpreter, the standard library and the installed packages.

    Only those: an editable install puts its checkout on sys.path, and a checkout may hold anything.
    """
    folders = {sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix}
    folders |= {entry for entry in sys.path if Path(entry).name in _PACKAGE_FOLDERS}
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.origin:
        folders.add(str(Path(torch.origin).parent))
    folders |= set(filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))
    folders |= {os.path.realpath(folder) for folder in folders}
    return sorted(f for f in folders if Path(f).is_dir() and f not in _TOO_MUCH)


def keep_only_python_folders() -> None:
    """Takes everything else off sys.path, and the finders of editable installs away.

    What they would find can't be read from a run; like this, it isn't found at all.
    """
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if "__editable__" not in getattr(finder, "__module__", "")
    ]
    roots = tuple(folder + "/" for folder in python_folders())
    sys.path[:] = [entry for entry in sys.path if (entry + "/").startswith(roots)]


_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_TOO_MUCH = ("/", "/home", "/root")
