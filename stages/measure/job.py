"""What a child of the nursery does: a few programs of one problem, or a canary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import canary, inductor, worker


def run(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answers to a request of the pool, each as soon as it is there."""
    inductor.be_cold()
    if request.get("canary"):
        yield canary.handle(request)
    else:
        yield from worker.answers(request)


def warm_up() -> None:
    """In the process that forks, so that children find everything imported."""
    worker.warm_up()
