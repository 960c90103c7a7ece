"""Warns a thousand times."""

import warnings


def run():
    warnings.simplefilter("always")
    for number in range(1000):
        warnings.warn(f"warning {number}")
    return "contained"
