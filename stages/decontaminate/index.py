"""The held-out problems, searchable by each tier. Every search is exact; one row at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.source.tokens import jaccard

Vector = NDArray[np.float32]
_CANDIDATES = 8  # faiss proposes, float64 decides: ties and last digits don't depend on BLAS


@dataclass(frozen=True)
class Features:
    """What the tiers look at, of a benchmark problem or of a row."""

    problem_id: str
    shape_blind_sha256: str
    tokens: frozenset[int]
    vector: Vector | None  # unit length; None where no embedder is asked
    graph_sha256: str = ""  # empty: not traced
    ops: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Nearest:
    """What of the benchmark is nearest to a row, by each tier."""

    same_canonical: str | None
    same_shape_blind: str | None
    same_graph: str | None
    same_ops: str | None
    jaccard: float
    jaccard_problem: str
    l2: float  # infinite where no embedder was asked
    cosine: float
    l2_problem: str


class BenchmarkIndex:
    """Fingerprints of held-out problems, from one or more benchmarks."""

    def __init__(self, problems: Mapping[str, Features]) -> None:
        """`problems`: name (benchmark/level/number) → features; at least one."""
        import faiss

        self.problems = dict(problems)
        self._names = list(self.problems)
        features = list(self.problems.values())
        self._canonical = _first(zip((f.problem_id for f in features), self._names, strict=True))
        self._forms = _first(
            zip((f.shape_blind_sha256 for f in features), self._names, strict=True)
        )
        self._graphs = _first((f.graph_sha256, n) for n, f in self.problems.items())
        self._ops = _first((f.ops, n) for n, f in self.problems.items())
        self._tokens = _TokenTable([f.tokens for f in features])
        self._vectors = np.stack([f.vector for f in features if f.vector is not None])
        if len(self._vectors) != len(features):
            raise ValueError("a benchmark problem has no vector")
        self._faiss = faiss.IndexFlatL2(self._vectors.shape[1])
        self._faiss.add(self._vectors)

    def nearest(self, row: Features) -> Nearest:
        """Compares a row with every problem by every tier."""
        place, similarity = self._tokens.nearest(row.tokens)
        vector_place, l2, cosine = self.nearest_vector(row.vector)
        return Nearest(
            same_canonical=self._canonical.get(row.problem_id),
            same_shape_blind=self._forms.get(row.shape_blind_sha256),
            same_graph=self._graphs.get(row.graph_sha256) if row.graph_sha256 else None,
            same_ops=self._ops.get(row.ops) if row.ops else None,
            jaccard=similarity,
            jaccard_problem=self._names[place],
            l2=l2,
            cosine=cosine,
            l2_problem=self._names[vector_place] if row.vector is not None else "",
        )

    def nearest_vector(self, vector: Vector | None) -> tuple[int, float, float]:
        """Place of the nearest problem, true L2 and cosine.

        One query a search: faiss computes a batch in another way, with other last digits.
        """
        if vector is None:
            return 0, float("inf"), float("-inf")
        count = min(_CANDIDATES, len(self._names))
        _, found = self._faiss.search(vector[np.newaxis], count)
        places = sorted(int(place) for place in found[0])
        near = self._vectors[places].astype(np.float64)
        differences = near - vector.astype(np.float64)
        distances = np.sqrt(np.maximum((differences**2).sum(axis=1), 0.0))
        best = int(distances.argmin())
        cosine = float(near[best] @ vector.astype(np.float64))
        return places[best], float(distances[best]), cosine


class _TokenTable:
    """Token sets as a table of 0 and 1, so that one row is compared with all problems at once."""

    def __init__(self, sets: Sequence[frozenset[int]]) -> None:
        self._sets = sets
        vocabulary = sorted(frozenset().union(*sets))
        self._place = {token: place for place, token in enumerate(vocabulary)}
        self._table = np.zeros((len(vocabulary), len(sets)), np.int32)
        for column, tokens in enumerate(sets):
            self._table[[self._place[token] for token in tokens], column] = 1
        self._sizes = np.array([len(tokens) for tokens in sets], np.int32)

    def nearest(self, tokens: frozenset[int]) -> tuple[int, float]:
        """Place and Jaccard of the most similar set; the first of equals."""
        places = [self._place[token] for token in tokens if token in self._place]
        common = self._table[places].sum(axis=0)
        unions = np.maximum(self._sizes + len(tokens) - common, 1)
        best = int((common / unions).argmax())
        return best, jaccard(tokens, self._sets[best])


def _first(pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    names: dict[Any, str] = {}
    for key, name in pairs:
        names.setdefault(key, name)
    return names
