"""Sleeps when its own locals go, before the answer is given."""

import time


class Sleeper:
    def __del__(self):
        time.sleep(60)


def run():
    kept = Sleeper()
    return "contained"
