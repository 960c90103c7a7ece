"""Starts other programs in every way of the standard library."""

import os
import subprocess


def run():
    started = []
    if os.system("true") == 0:
        started.append("system")
    for start in (
        lambda: subprocess.run(["/bin/true"]),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
    ):
        try:
            started.append(start())
        except OSError:
            pass
    try:
        os.execv("/bin/true", ["true"])
    except OSError:
        pass
    return f"ESCAPED {started}" if started else "contained"
