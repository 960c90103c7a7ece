"""Does its work while it is imported, before anything is called."""

import socket
import subprocess

for attempt in (
    lambda: subprocess.run(["/bin/true"]),
    lambda: socket.create_connection(("127.0.0.1", TARGET["port"]), 1),
):
    try:
        attempt()
        outcome = "ESCAPED"
        break
    except OSError:
        outcome = "contained"


def run():
    return outcome
