"""Stops itself by SIGSTOP, so that it never ends."""

import os
import signal


def run():
    os.kill(os.getpid(), signal.SIGSTOP)
    return "ESCAPED"
