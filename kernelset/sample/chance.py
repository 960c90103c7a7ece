"""Random numbers that are the same everywhere: digests of a seed and a name."""

import hashlib
import math

BITS = 53  # as many as a float holds


def fraction(seed: int, name: str) -> float:
    """A number in [0, 1), uniform over names and seeds."""
    digest = hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
    return math.ldexp(int.from_bytes(digest[:8], "big") >> (64 - BITS), -BITS)
