"""Climbs out of tmp by dots, also from an open folder."""

import os


def run():
    folder = os.open(".", os.O_RDONLY)
    for climb in range(1, 9):
        up = "../" * climb + TARGET["outside"].lstrip("/") + "/victim"
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.open(up, flags, dir_fd=folder)
                return "ESCAPED " + up
            except OSError:
                pass
    return "contained"
