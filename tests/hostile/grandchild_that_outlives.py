"""Leaves a daemon: forks twice, leaves its session if it can, holds the pipes."""

import os
import time


def run():
    for _ in range(3):
        try:
            child = os.fork()
        except OSError:
            return "contained"
        if child == 0:
            try:
                os.setsid()
            except OSError:
                pass
            if os.fork() == 0:
                time.sleep(300)
            os._exit(0)
    return "contained"
