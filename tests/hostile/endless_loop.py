"""Loops for ever."""


def run():
    while True:
        pass
