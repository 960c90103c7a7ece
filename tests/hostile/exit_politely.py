"""Raises SystemExit where the worker expects an answer."""

import sys


def run():
    sys.exit(0)
