"""An endpoint that is down must not cost every single question its full waiting time."""

import time


class Outage:
    """Knows since when nothing has come back, and when to stop hoping."""

    def __init__(self) -> None:
        self._last_reply = 0.0
        self.down = False

    def replied(self) -> None:
        self._last_reply = time.monotonic()
        self.down = False

    def gave_up(self, since: float) -> None:
        """A question has waited for as long as it may. Down, if meanwhile no other was luckier."""
        if self._last_reply < since:
            self.down = True
