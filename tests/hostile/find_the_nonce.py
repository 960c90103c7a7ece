"""Looks for the nonce in every frame and every object that gc knows."""

import gc
import sys


def walk():
    frame = sys._getframe()
    while frame:
        yield from frame.f_locals.values()
        yield from frame.f_globals.values()
        frame = frame.f_back
    for thing in gc.get_objects():
        yield thing
        if isinstance(thing, dict):
            yield from list(thing.values())
        elif isinstance(thing, (list, tuple, set, frozenset)):
            yield from thing


def run():
    # A nonce looks random: 32 bytes, most of them different and many not ASCII.
    found = [
        value
        for value in walk()
        if isinstance(value, (bytes, bytearray, memoryview))
        and len(value) == 32
        and len(set(bytes(value))) > 20
        and sum(byte > 127 for byte in bytes(value)) > 6
    ]
    return f"ESCAPED {len(found)}" if found else "contained"
