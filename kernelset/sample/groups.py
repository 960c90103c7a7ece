"""What may not be torn apart by a split: rows of one origin, one family, and near copies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelset.sample.vectors import Vectors

TIES = ("origin", "family_id", "graph_sha256")
"""Rows with the same value belong together: one package, variants of one class, one computation."""


def groups(rows: Sequence[Mapping[str, Any]], vectors: Vectors, near_l2: float) -> list[int]:
    """The group of each row: 0, 1, … in the order of their first row.

    Two rows are tied directly by a value of `TIES` or by an L2 distance below `near_l2`,
    and belong together if any chain of ties joins them.
    """
    ties: list[tuple[int, int]] = near_pairs(vectors, near_l2)
    for column in TIES:
        first: dict[Any, int] = {}
        ties += [(first.setdefault(row[column], index), index) for index, row in enumerate(rows)]
    return connected(len(rows), ties)


def near_pairs(vectors: Vectors, l2: float) -> list[tuple[int, int]]:
    """Pairs of rows nearer to each other than `l2`, exactly: no index is approximated."""
    import faiss

    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    limits, _, found = index.range_search(vectors, l2 * l2)  # faiss compares the square
    return [
        (row, int(other))
        for row in range(len(vectors))
        for other in found[limits[row] : limits[row + 1]]
        if row < other
    ]


def connected(count: int, ties: Iterable[tuple[int, int]]) -> list[int]:
    """The connected component of each of `count` nodes, numbered by their first node."""
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in ties:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    names: dict[int, int] = {}
    return [names.setdefault(root(node), len(names)) for node in range(count)]
