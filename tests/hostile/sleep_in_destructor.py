"""Sleeps when the process tidies up: __del__ of a global, atexit, a non-daemon thread."""

import atexit
import time


class Sleeper:
    def __del__(self):
        time.sleep(60)


kept = Sleeper()
atexit.register(time.sleep, 60)


def run():
    return "contained"
