"""Writes a program into tmp, makes it executable and setuid, and starts it."""

import os
import subprocess


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    with open("program", "w") as file:
        file.write("#!/bin/sh\necho hello\n")
    os.chmod("program", 0o4755)
    return "contained" if refused(subprocess.run, ["./program"]) else "ESCAPED"
