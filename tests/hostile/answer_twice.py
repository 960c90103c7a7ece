"""Forks, and lets the child come back up into the worker with an answer of its own."""

import os


def run():
    try:
        if os.fork() == 0:
            return "ESCAPED"
        os.wait()
    except OSError:
        pass
    return "contained"
