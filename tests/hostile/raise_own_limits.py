"""Gives itself more memory, processes and CPU."""

import resource


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    tries = []
    for kind in (
        resource.RLIMIT_AS,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_CPU,
        resource.RLIMIT_FSIZE,
    ):
        soft, hard = resource.getrlimit(kind)
        tries.append(refused(resource.setrlimit, kind, (hard + 1, hard + 1)))
    return "contained" if all(tries) else f"ESCAPED {tries}"
