"""Opens sockets that talk to the kernel or to the wire."""

import socket


def refused(attempt, *arguments):
    """Gives whether `attempt` fails as it should."""
    try:
        attempt(*arguments)
    except (OSError, ValueError):
        return True
    return False


def run():
    kinds = [
        (socket.AF_NETLINK, socket.SOCK_RAW, 0),
        (socket.AF_PACKET, socket.SOCK_RAW, 3),
        (socket.AF_INET, socket.SOCK_RAW, 1),
        (socket.AF_VSOCK, socket.SOCK_STREAM, 0),
    ]
    tries = [refused(socket.socket, *kind) for kind in kinds]
    return "contained" if all(tries) else f"ESCAPED {tries}"
