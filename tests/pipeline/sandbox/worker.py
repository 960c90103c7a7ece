"""A worker for the tests: runs a program and gives what its `run()` gives, without a judge."""

from __future__ import annotations

from typing import Any

import torch


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Gives {"value": …} for a program, {"echo": …} for anything else."""
    if "echo" in request:
        return {"echo": request["echo"]}
    space = {"__name__": "program", "torch": torch, "TARGET": request.get("target", {})}
    exec(compile(request["source"], "program.py", "exec"), space)
    return {"value": space["run"]() if "run" in space else None}
