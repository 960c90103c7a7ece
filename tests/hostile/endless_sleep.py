"""Sleeps for ever, deaf to every signal that can be ignored."""

import signal
import time


def run():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(60)
