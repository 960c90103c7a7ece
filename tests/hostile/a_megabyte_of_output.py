"""Prints a megabyte and then answers."""

import sys


def run():
    sys.stderr.write("e" * 2**19)
    print("x" * 2**19)
    return "contained"
