"""Allocates 30 GB by Python."""


def run():
    return len(bytearray(30 * 2**30))
