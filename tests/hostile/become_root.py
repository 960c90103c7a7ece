"""Takes user 0 and capabilities."""

import os


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    if os.getuid() == 0:
        with open("/proc/self/status") as file:
            effective = [line.split()[1] for line in file if line.startswith("CapEff")]
        return "contained" if int(effective[0], 16) == 0 else "ESCAPED"
    tries = [refused(os.setuid, 0), refused(os.setresuid, 0, 0, 0), refused(os.setgroups, [0])]
    return "contained" if all(tries) else f"ESCAPED {tries}"
