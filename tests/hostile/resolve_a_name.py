"""Sends data out as a DNS question."""

import socket


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def ask():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", TARGET["port"]))


def run():
    tries = [refused(socket.getaddrinfo, "secret.example.com", 80), refused(ask)]
    return "contained" if all(tries) else "ESCAPED"
