"""An endpoint that is down must not cost every single question its full waiting time."""

import time


class Outage:
    """Knows when the last reply came, and when to stop hoping."""

    def __init__(self) -> None:
        self._last_reply = 0.0
        self.down = False
        self.knock_expected = False

    def replied(self) -> None:
        self._last_reply = time.monotonic()
        self.down = self.knock_expected = False

    def gave_up(self, since: float) -> None:
        """A question has waited for as long as it may. Down, if meanwhile no other was luckier."""
        self.knock_expected = False
        if self._last_reply < since:
            self.down = True

    def expect_knock(self) -> None:
        """A new batch of questions: one of them tries once before the others are let on."""
        self.down, self.knock_expected = False, True
