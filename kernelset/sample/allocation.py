"""How many rows each cluster gives: w = 1 / log(rows + 1), then stochastic rounding.

The weight falls with the size of a cluster, so that what is common does not drown what is rare. A
cluster can't give more than it has: what a small one lacks goes to the others by their weights, so
in a large sample the large clusters still give most. Counts are whole numbers whose sum is the size
wanted and whose expectations are the shares.
"""

import math
from collections.abc import Sequence

from kernelset.sample.chance import fraction

FULL = 1e-9  # a share this near to all rows of a cluster is all of them


def weights(rows: Sequence[int]) -> list[float]:
    """Each cluster's share of the draws before any is full; they sum to 1."""
    raw = [1 / math.log(count + 1) for count in rows]
    return [one / sum(raw) for one in raw]


def shares(rows: Sequence[int], size: int) -> list[float]:
    """Expected rows of each cluster, at most what it has; they sum to `size`, or to all rows."""
    if size >= sum(rows):
        return [float(count) for count in rows]
    found = [0.0] * len(rows)
    weight, left, open_ = weights(rows), float(size), list(range(len(rows)))
    while open_:
        total = sum(weight[index] for index in open_)
        wanted = {index: left * weight[index] / total for index in open_}
        full = [index for index in open_ if wanted[index] >= rows[index] - FULL]
        if not full:
            for index in open_:
                found[index] = wanted[index]
            break
        for index in full:
            found[index] = float(rows[index])
            left -= rows[index]
        open_ = [index for index in open_ if index not in full]
    return found


def round_stochastically(expected: Sequence[float], seed: int) -> list[int]:
    """Whole numbers: each the floor or the ceiling of its share, with the share as expectation.

    The parts behind the points are laid end to end on a ruler that is shifted at random; a cluster
    gets one more row if a mark falls on its piece. So the sum is exact, which rounding each alone
    would not give. The order is random too, or neighbours would always exclude each other.
    """
    counts = [math.floor(share) for share in expected]
    parts = [share - count for share, count in zip(expected, counts, strict=True)]
    order = [index for index, part in enumerate(parts) if part > 0]
    order.sort(key=lambda index: fraction(seed, f"order {index}"))
    shift, end, marks = fraction(seed, "shift"), 0.0, 0
    for index in order:
        end = end + parts[index] if index != order[-1] else float(round(end + parts[index]))
        reached = math.floor(end + shift)
        counts[index] += reached - marks
        marks = reached
    return counts
