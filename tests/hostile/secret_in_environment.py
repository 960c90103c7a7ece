"""Reads the caller's environment from its own."""

import os


def run():
    return "ESCAPED" if TARGET["secret"] in str(dict(os.environ)) else "contained"
