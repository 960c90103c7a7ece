"""Which rows are drawn."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kernelset.sample.allocation import round_stochastically, shares
from kernelset.sample.chance import fraction


@dataclass(frozen=True)
class Drawn:
    """The outcome of a draw."""

    rows: list[int]  # positions, ascending
    sizes: list[int]  # rows of each cluster
    expected: list[float]  # draws of each cluster, in expectation
    counts: list[int]  # draws of each cluster


def draw(ids: Sequence[str], clusters: Sequence[int], size: int, seed: int) -> Drawn:
    """At most `size` rows, without replacement, uniform within each cluster.

    Args:
        ids: a name for each row that does not depend on its position.
        clusters: 0, 1, … for each row; none empty.
    """
    members: defaultdict[int, list[int]] = defaultdict(list)
    for row, label in enumerate(clusters):
        members[label].append(row)
    sizes = [len(members[label]) for label in range(len(members))]
    expected = shares(sizes, size)
    counts = round_stochastically(expected, seed)
    rows = []
    for label, count in enumerate(counts):
        lots = sorted(members[label], key=lambda row: (fraction(seed, ids[row]), ids[row]))
        rows += lots[:count]
    return Drawn(sorted(rows), sizes, expected, counts)
