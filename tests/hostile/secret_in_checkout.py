"""Reads the project's own files: keys lie about in checkouts."""

import os


def run():
    for path in (TARGET["checkout"] + "/pyproject.toml", TARGET["checkout"] + "/.git/config"):
        try:
            with open(path) as file:
                return "ESCAPED " + file.read()[:20]
        except OSError:
            pass
    try:
        import stages  # noqa
    except ImportError:
        return "contained"
    return "ESCAPED by import"
