"""Writes a file wherever a program could think of."""

import os
import sys


def run():
    places = [
        TARGET["outside"],
        TARGET["home"],
        TARGET["checkout"],
        "/",
        "/etc",
        "/usr/lib",
        "/var/tmp",
        "/dev/shm",
        "/run",
        sys.prefix,
        os.path.dirname(torch.__file__),
    ]
    for place in places:
        try:
            with open(place + "/escaped", "w") as file:
                file.write("x")
            return "ESCAPED " + place
        except OSError:
            pass
    return "contained"
