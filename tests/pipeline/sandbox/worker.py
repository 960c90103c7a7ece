"""A worker for the tests: execs the program and gives what its `run()` gives."""

from __future__ import annotations

import torch


def handle(request: dict) -> dict:
    if "echo" in request:
        return {"echo": request["echo"]}
    space = {"__name__": "program", "torch": torch}
    exec(compile(request["source"], "program.py", "exec"), space)
    return {"value": space["run"]() if "run" in space else None}
