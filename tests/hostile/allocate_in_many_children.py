"""Takes in eight processes together what one may not take."""

import os
import time


def run():
    for _ in range(8):
        try:
            child = os.fork()
        except OSError:
            return "contained"
        if child == 0:
            kept = b"x" * (400 * 2**20)
            time.sleep(60)
    time.sleep(60)
