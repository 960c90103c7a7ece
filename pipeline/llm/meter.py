"""Live counters: replies, tokens and cost, in one line."""

import time
from weakref import WeakKeyDictionary

from pipeline.llm.prices import Usage
from pipeline.stage import Workplace

EVERY_S = 1.0


class Meter:
    """Counts, and tells at most once a second."""

    def __init__(self, priced: bool) -> None:
        self._priced = priced
        self._told = time.monotonic()
        self._budget_told = False
        self.answered = self.remembered = self.missed = 0
        self.requests = self.tokens = 0
        self.dollars = 0.0

    def tell_once(self) -> bool:
        """Whether a stage's person has not been told yet that the budget is used up."""
        told, self._budget_told = self._budget_told, True
        return not told

    def spent(self, usage: Usage, dollars: float) -> None:
        self.requests += 1
        self.tokens += usage.total
        self.dollars += dollars

    def done(self, place: Workplace, *, answered: bool, remembered: bool = False) -> None:
        self.answered += answered
        self.remembered += remembered
        self.missed += not answered
        if time.monotonic() - self._told >= EVERY_S:
            self._told = time.monotonic()
            place.note(self.line)

    @property
    def line(self) -> str:
        cost = f"${self.dollars:,.4f}" if self._priced else "no price known"
        missed = f", {self.missed:,} without" if self.missed else ""
        return (
            f"{self.answered:,} answers ({self.remembered:,} remembered{missed})"
            f" · {self.requests:,} requests · {self.tokens:,} tokens · {cost}"
        )


_meters: "WeakKeyDictionary[Workplace, Meter]" = WeakKeyDictionary()


def meter_of(place: Workplace, priced: bool) -> Meter:
    """The counters of a workplace: a stage asks batch after batch, and its counters go on."""
    if place not in _meters:
        _meters[place] = Meter(priced)
    return _meters[place]
