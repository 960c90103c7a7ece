"""What a child of the nursery does: one job, or a canary."""

from __future__ import annotations

from typing import Any

from . import canary, inductor, worker


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request of the runner."""
    inductor.be_cold()
    if request.get("canary"):
        return canary.handle(request)
    return worker.handle(request)


def warm_up() -> None:
    """In the process that forks, so that children find everything imported."""
    worker.warm_up()
