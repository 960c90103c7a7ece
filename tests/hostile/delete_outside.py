"""Removes, renames and truncates a file outside."""

import os
import shutil


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    victim = TARGET["outside"] + "/victim"
    tries = [
        refused(os.remove, victim),
        refused(os.rename, victim, "mine"),
        refused(os.truncate, victim, 0),
        refused(os.rmdir, TARGET["outside"]),
    ]
    shutil.rmtree(TARGET["outside"], ignore_errors=True)
    return "contained" if all(tries) else f"ESCAPED {tries}"
