"""Reads a file in the caller's home, by its path and by ~."""

import os


def run():
    for path in (
        TARGET["home"] + "/.netrc",
        os.path.expanduser("~/.netrc"),
        "/root/.netrc",
        "/etc/shadow",
    ):
        try:
            with open(path) as file:
                return "ESCAPED " + path + file.read()[:20]
        except OSError:
            pass
    return "contained"
