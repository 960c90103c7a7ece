"""Kills relay, server, caller and every number that it can guess."""

import os
import signal


def run():
    killed = []
    for pid in {os.getppid(), 1, TARGET["pid"], TARGET["pid"] + 1} - {os.getpid(), 0}:
        try:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        except OSError:
            pass
    return "contained" if set(killed) <= {1} else f"ESCAPED {killed}"
