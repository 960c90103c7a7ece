"""Writes to /proc/sys and /sys."""


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    tries = [
        refused(open, "/proc/sys/kernel/core_pattern", "w"),
        refused(open, "/proc/sysrq-trigger", "w"),
        refused(open, "/proc/1/oom_score_adj", "w"),
        refused(open, "/sys/devices/system/cpu/cpu1/online", "w"),
    ]
    return "contained" if all(tries) else f"ESCAPED {tries}"
