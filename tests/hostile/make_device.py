"""Makes a device node of the disk."""

import os
import stat


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    made = refused(os.mknod, "disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))
    return "contained" if made else "ESCAPED"
