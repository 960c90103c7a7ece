"""Money and requests that may still be spent."""

import asyncio

from pipeline.llm.store import Spent


class Budget:
    """Counts what is spent, and what the requests in flight may still cost.

    A request is sent only if its dearest outcome fits in what is left. Where that fits only once
    others in flight turn out cheaper, it waits for them. The limit is passed only if the endpoint
    charges more than was reserved, and then by no more than what is in flight at that moment.
    """

    def __init__(self, dollars: float | None, requests: int | None, spent: Spent) -> None:
        self._dollars, self._requests = dollars, requests
        self._spent_dollars, self._spent_requests = spent.dollars, spent.requests
        self._expected_dollars, self._in_flight = 0.0, 0
        self._underestimate = 1.0  # what was dearer than expected once may be so again
        self._settled = asyncio.Condition()
        self.exhausted = False

    async def reserve(self, dollars: float) -> bool:
        """Keeps the means for one request; False when there are none left."""
        async with self._settled:
            while not self._fits(dollars):
                if self.exhausted or self._in_flight == 0:
                    self.exhausted = True
                    self._settled.notify_all()
                    return False
                await self._settled.wait()
            self._expected_dollars += dollars
            self._in_flight += 1
            return True

    async def settle(self, expected: float, cost: float) -> None:
        """A request has ended, and cost what it cost."""
        async with self._settled:
            self._expected_dollars -= expected
            self._in_flight -= 1
            self._spent_dollars += cost
            self._spent_requests += 1
            if expected > 0:
                self._underestimate = max(self._underestimate, cost / expected)
            self._settled.notify_all()

    def fits(self, dollars: float, requests: int) -> bool:
        """Whether a whole batch may be submitted."""
        return self._fits(dollars, requests)

    @property
    def words(self) -> str:
        """The limit, for a person."""
        limits = []
        if self._dollars is not None:
            limits.append(
                f"${self._dollars:,.2f}" if self._dollars >= 0.01 else f"${self._dollars:g}"
            )
        if self._requests is not None:
            limits.append(f"{self._requests:,} requests")
        return f"the budget of {' and '.join(limits)} in 24 hours is used up"

    def _fits(self, dollars: float, requests: int = 1) -> bool:
        if self._requests is not None and (
            self._spent_requests + self._in_flight + requests > self._requests
        ):
            return False
        if self._dollars is None:
            return True
        ahead = (self._expected_dollars + dollars) * self._underestimate
        return self._spent_dollars + ahead <= self._dollars
