"""Answers with 100 MB."""


def run():
    return bytes(100 * 2**20)
