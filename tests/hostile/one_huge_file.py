"""Writes one file of 300 MB, and makes a sparse one of 1 TB."""

import os


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def write():
    with open("huge", "wb") as file:
        for _ in range(300):
            file.write(bytes(2**20))


def grow():
    with open("sparse", "wb") as file:
        os.ftruncate(file.fileno(), 2**40)


def run():
    return "contained" if refused(write) and refused(grow) else "ESCAPED"
