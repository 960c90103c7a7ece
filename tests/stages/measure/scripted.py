"""A device whose clock follows a script: what the protocol does can be read off it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Any


class ScriptedDevice:
    """Each timed call takes the next of `times_ms`; the last one for ever after."""

    def __init__(self, times_ms: Iterable[float], after: float = 1.0) -> None:
        self._times: Iterator[float] = chain(times_ms, repeat(after))
        self.events: list[str] = []
        self.head_starts: list[float] = []
        self.now = 0.0
        self.calls = 0
        self.compiled = 0
        self.complaints: Callable[[int], list[str]] = lambda calls: []
        self.clock: Callable[[int], float | None] = lambda calls: None

    def call(self, *inputs: Any) -> str:
        self.events.append("call")
        self.calls += 1
        self.now += next(self._times)
        return "output"

    def flush(self, busy_ms: float) -> None:
        self.events.append("flush")
        self.head_starts.append(busy_ms)
        self.now += 0.06  # a flush takes time; it must not be counted

    def mark(self) -> float:
        self.events.append("mark")
        return self.now

    def settle(self) -> None:
        self.events.append("settle")

    def elapsed_ms(self, start: float, end: float) -> float:
        return end - start

    def disturbances(self) -> dict[str, int]:
        return {"recompile": self.compiled}

    def troubles(self) -> list[str]:
        return self.complaints(self.calls)

    def clock_mhz(self) -> float | None:
        return self.clock(self.calls)
