"""Answers with a list in a list, 100000 deep."""


def run():
    value = []
    for _ in range(100_000):
        value = [value]
    return value
