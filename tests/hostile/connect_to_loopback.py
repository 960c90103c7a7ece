"""Connects to a listener of the caller on 127.0.0.1 and ::1."""

import socket


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    tries = [
        refused(socket.create_connection, (host, TARGET["port"]), 1)
        for host in ("127.0.0.1", "::1")
    ]
    return "contained" if all(tries) else "ESCAPED"
