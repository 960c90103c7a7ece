"""Makes a second name in tmp for a file outside."""

import os


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    return "contained" if refused(os.link, TARGET["outside"] + "/victim", "mine") else "ESCAPED"
