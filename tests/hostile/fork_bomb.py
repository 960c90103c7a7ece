"""Forks without end, and its children do too."""

import os
import time


def run():
    made = 0
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        try:
            if os.fork() == 0:
                made = -1_000_000
            made += 1
        except OSError:
            time.sleep(0.01)
    if made < 0:
        time.sleep(60)
    return "contained" if made <= 64 else f"ESCAPED {made}"
