"""Reads from and seeks in every descriptor that it may have inherited."""

import os


def run():
    found = []
    for fd in range(4, 1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return f"ESCAPED {found}" if found else "contained"
