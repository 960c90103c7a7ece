"""Writes and reads outside through a symlink made in tmp."""

import os


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    os.symlink(TARGET["outside"], "link")
    os.symlink(TARGET["outside"] + "/victim", "victim")
    tries = [
        refused(open, "link/escaped", "w"),
        refused(open, "victim", "w"),
        refused(open, "victim"),
    ]
    return "contained" if all(tries) else f"ESCAPED {tries}"
