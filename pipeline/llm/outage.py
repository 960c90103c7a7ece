"""An endpoint that is down must not cost every single question its full waiting time."""

import time


class Outage:
    """Knows when the last reply came, and when to stop hoping.

    One question that waits in vain only raises a doubt: perhaps the server breaks on that question
    alone. The next one knocks, with a single try, and if that fails too the endpoint is down.
    """

    def __init__(self) -> None:
        self._last_reply = 0.0
        self._doubted = False
        self.down = False
        self.knock_expected = False

    def replied(self) -> None:
        self._last_reply = time.monotonic()
        self._doubted = self.down = self.knock_expected = False

    def gave_up(self, since: float) -> None:
        """A question has waited for as long as it may, since that time."""
        if self._last_reply >= since:  # others were luckier
            return
        self.down = self._doubted
        self.knock_expected = not self._doubted
        self._doubted = True

    def expect_knock(self) -> None:
        """A new batch of questions: one of them tries once before the others are let on."""
        self._doubted, self.down, self.knock_expected = True, False, True
