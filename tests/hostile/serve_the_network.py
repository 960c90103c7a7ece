"""Listens, so that others can come in."""

import socket


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    return "contained" if refused(socket.create_server, ("127.0.0.1", 0)) else "ESCAPED"
