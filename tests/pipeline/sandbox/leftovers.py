"""Finds what a run has left behind."""

from __future__ import annotations

import time
from pathlib import Path

from pipeline.sandbox import Sandbox


def processes_left(sandbox: Sandbox, patience_s: float = 5.0) -> list[str]:
    """Gives the processes of `sandbox` besides its server, after waiting for them to be gone."""
    deadline = time.monotonic() + patience_s
    while (found := _processes(sandbox)) and time.monotonic() < deadline:
        time.sleep(0.005)
    return found


def _processes(sandbox: Sandbox) -> list[str]:
    server = sandbox._server
    if server is None:
        return []
    parents = {}
    lines = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                pid = int(entry.name)
                parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                lines[pid] = (entry / "cmdline").read_text()
            except (OSError, ValueError):
                continue
    top = server._process.pid
    below = _below(top, parents)
    same_command = {pid for pid, line in lines.items() if line == lines.get(top) and line}
    # Where the server has namespaces of its own, the process that was started waits for it.
    servers = {top, *(pid for pid in below if parents[pid] == top and lines[pid] == lines[top])}
    if not _is_entered(top, parents, lines):
        servers = {top}
    return [
        f"{pid} {lines.get(pid, '?')[:200]}" for pid in sorted((below | same_command) - servers)
    ]


def _is_entered(top: int, parents: dict[int, int], lines: dict[int, str]) -> bool:
    def namespace(pid: int) -> str:
        try:
            return str((Path("/proc") / str(pid) / "ns/pid").readlink())
        except OSError:
            return ""

    children = [pid for pid, parent in parents.items() if parent == top]
    return any(namespace(pid) != namespace(top) for pid in children)


def _below(top: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while more := {pid for pid, parent in parents.items() if parent in found | {top}} - found:
        found |= more
    return found
