"""Overflows the stack in C."""

import sys


def run():
    sys.setrecursionlimit(10**9)
    value = []
    for _ in range(10**6):
        value = [value]
    return repr(value)
