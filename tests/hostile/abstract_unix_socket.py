"""Connects to a unix socket of the caller, also by a datagram from a socketpair."""

import socket


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def stream():
    socket.socket(socket.AF_UNIX).connect(TARGET["unix"])


def datagram():
    first, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    first.sendto(b"x", TARGET["unix"] + "-datagram")


def message():
    first, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    first.sendmsg([b"x"], [], 0, TARGET["unix"] + "-datagram")


def run():
    tries = [refused(stream), refused(datagram), refused(message)]
    return "contained" if all(tries) else f"ESCAPED {tries}"
