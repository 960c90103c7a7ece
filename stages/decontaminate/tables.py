"""Many rows compared with all problems at once: token sets and vectors, exactly.

A row's answer does not depend on the rows that came with it. Whole numbers add up the same in any
order; where fractions are summed, a fast search only proposes, and float64 decides, row by row.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_BLOCK = 1024  # rows at a time: a few megabytes
_CANDIDATES = 8


class TokenTable:
    """Token sets as a table of 0 and 1."""

    def __init__(self, sets: Sequence[frozenset[int]]) -> None:
        """`sets`: one a problem."""
        vocabulary = sorted(frozenset().union(*sets))
        self._place = {token: place for place, token in enumerate(vocabulary)}
        self._table = np.zeros((len(vocabulary), len(sets)), np.int32)
        for column, tokens in enumerate(sets):
            self._table[[self._place[token] for token in tokens], column] = 1
        self._sizes = np.array([len(tokens) for tokens in sets], np.int32)

    def nearest(self, rows: Sequence[frozenset[int]]) -> list[tuple[int, float]]:
        """Place and Jaccard of the most similar set, for each row; the first of equals."""
        found: list[tuple[int, float]] = []
        for start in range(0, len(rows), _BLOCK):
            found += self._block(rows[start : start + _BLOCK])
        return found

    def _block(self, rows: Sequence[frozenset[int]]) -> list[tuple[int, float]]:
        from scipy.sparse import csr_matrix

        place = self._place
        known = [[place[token] for token in tokens if token in place] for tokens in rows]
        ends = np.cumsum([0, *map(len, known)])
        places = np.fromiter((p for one in known for p in one), np.int32, count=ends[-1])
        among = csr_matrix(
            (np.ones(len(places), np.int32), places, ends), shape=(len(rows), len(self._table))
        )
        common = np.asarray(among @ self._table)
        sizes = np.array([len(tokens) for tokens in rows], np.int32)
        unions = self._sizes + sizes[:, np.newaxis] - common
        similar = common / np.maximum(unions, 1)
        similar[unions == 0] = 1.0  # two empty sets
        best = similar.argmax(axis=1)
        return list(zip(best.tolist(), similar[np.arange(len(rows)), best].tolist(), strict=True))


class VectorTable:
    """Unit vectors. faiss proposes, in float32; float64 decides.

    faiss adds up a batch in another way than one query, so its last digits are not believed: every
    problem is looked at that could be the nearest within its error.
    """

    def __init__(self, vectors: Floats) -> None:
        """`vectors`: one a problem, float32, shape (problems, size)."""
        import faiss

        self._exact = vectors.astype(np.float64)
        self._faiss = faiss.IndexFlatL2(vectors.shape[1])
        self._faiss.add(vectors)
        # faiss: |x|² + |y|² - 2xy. Each sum of n products is off by at most n roundings of 1, all
        # together four such sums; twice that where two distances are compared.
        self._slack = np.float32(8 * (vectors.shape[1] + 2) * np.finfo(np.float32).eps / 2)

    def nearest(self, vectors: Floats) -> list[tuple[int, float, float]]:
        """Place of the nearest, true L2 and cosine, for each row; the first of equals."""
        found: list[tuple[int, float, float]] = []
        for start in range(0, len(vectors), _BLOCK):
            found += self._block(vectors[start : start + _BLOCK])
        return found

    def _block(self, vectors: Floats) -> list[tuple[int, float, float]]:
        rows, places = self._proposed(vectors)
        exact = vectors.astype(np.float64)
        distances = np.sqrt(((self._exact[places] - exact[rows]) ** 2).sum(axis=1))
        ends = np.searchsorted(rows, np.arange(len(vectors)), side="right").tolist()
        found, start = [], 0
        for row, end in enumerate(ends):
            best = start if end == start + 1 else start + int(distances[start:end].argmin())
            place = int(places[best])
            cosine = float(self._exact[place] @ exact[row])
            found.append((place, float(distances[best]), cosine))
            start = end
        return found

    def _proposed(self, vectors: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs (row, place) that could be nearest, by row and then by place."""
        problems = len(self._exact)
        rough, near = self._faiss.search(vectors, min(_CANDIDATES, problems))
        close = rough <= rough[:, :1] + self._slack
        more = close.all(axis=1) & (near.shape[1] < problems)  # there may be others as near
        rows, columns = np.nonzero(close & ~more[:, np.newaxis])
        places = near[rows, columns]
        crowded = np.flatnonzero(more)
        rows = np.concatenate([rows, np.repeat(crowded, problems)])
        places = np.concatenate([places, np.tile(np.arange(problems), len(crowded))])
        order = np.lexsort((places, rows))
        return rows[order], places[order]
