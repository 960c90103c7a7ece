"""A worker for the tests whose comparison runs where the program never was."""

from __future__ import annotations

from typing import Any

import torch


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Gives the program's output as data, and its own opinion of it."""
    space = {"__name__": "program", "torch": torch}
    exec(compile(request["source"], "program.py", "exec"), space)
    output = space["forward"](request["x"])
    return {"output": output, "equal": bool(torch.allclose(output, 2 * request["x"]))}


def judge(request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Says whether the output is twice the input."""
    output = answer["output"]
    equal = isinstance(output, torch.Tensor) and torch.allclose(output, 2 * request["x"])
    return {"equal": equal, "claimed": answer["equal"]}
