"""Requests and tokens a minute, without bursts."""

import time
from collections.abc import Awaitable, Callable

MINUTE = 60.0
Sleep = Callable[[float], Awaitable[None]]


class Pace:
    """Spreads requests evenly: no window of a minute holds more than the limit.

    Even spacing instead of a bucket that may be emptied at once: a run that is killed and started
    again can't send two buckets in one minute, and endpoints that count by the second agree.
    """

    def __init__(self, rpm: int, tpm: int) -> None:
        self._request_s = MINUTE / rpm if rpm else 0.0
        self._token_s = MINUTE / tpm if tpm else 0.0
        self._requests_free = self._tokens_free = self._paused_until = 0.0

    async def wait(self, tokens: int, sleep: Sleep) -> None:
        """Waits for a place for one request of about so many tokens."""
        now = time.monotonic()
        start = max(now, self._requests_free, self._tokens_free)
        # The place is taken before sleeping, so that waiters queue up behind each other.
        self._requests_free = start + self._request_s
        self._tokens_free = start + tokens * self._token_s
        if start > now:
            await sleep(start - now)
        while (rest := self._paused_until - time.monotonic()) > 0:
            await sleep(rest)

    def correct(self, expected: int, used: int) -> None:
        """What a reply really used is less than what was reserved for it."""
        self._tokens_free -= (expected - used) * self._token_s

    def pause(self, seconds: float) -> None:
        """The endpoint asks for quiet: nobody sends for a while, not only the one it told."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
