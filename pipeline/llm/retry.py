"""Which troubles pass, and how long to wait for it."""

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
"""Status codes that may be gone a moment later."""


def wait_before(attempt: int, headers: Mapping[str, str]) -> float:
    """Seconds until the next try: what the endpoint asks for, else exponential with jitter."""
    asked = retry_after(headers)
    if asked is not None:
        return asked
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**attempt)
    return random.uniform(longest / 2, longest)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The Retry-After header in seconds, given as seconds, milliseconds or a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None
