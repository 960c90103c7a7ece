"""Closes every descriptor, that of the answer too."""

import os


def run():
    os.closerange(0, 256)
    return "ESCAPED"
