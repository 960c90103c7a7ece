"""Finds the kept row that a new row resembles most: MinHash proposes, exact Jaccard decides."""

from collections.abc import Iterable

from pipeline.source.tokens import jaccard

PERMUTATIONS = 128
SEED = 1


class KeptRows:
    """The rows kept so far, searchable by token-set similarity.

    Sketches live in memory for one run only, so that none made by another scheme, seed or version
    of datasketch can ever be compared with ours.
    """

    def __init__(self, above: float, candidate_threshold: float) -> None:
        """`above`: only rows with a Jaccard above it count; at 1.0, rows with equal sets."""
        from datasketch import MinHashLSH

        self._above = above
        self._lsh = MinHashLSH(threshold=candidate_threshold, num_perm=PERMUTATIONS)
        self._sets: dict[str, frozenset[int]] = {}

    def nearest(self, tokens: frozenset[int], sketch: object) -> tuple[str, float] | None:
        """Id and Jaccard of the most similar kept row that is near enough, or nothing.

        Ties go to the smaller id, so that the order of the candidates is no matter.
        """
        best: tuple[float, str] | None = None
        for name in self._lsh.query(sketch):
            other = self._sets[name]
            small, large = sorted((len(tokens), len(other)))
            if small < self._above * large:
                continue  # even a subset could not reach the threshold
            value = jaccard(tokens, other)
            if self._counts(value) and (best is None or (-value, name) < best):
                best = (-value, name)
        return (best[1], -best[0]) if best else None

    def add(self, name: str, tokens: frozenset[int], sketch: object) -> None:
        self._sets[name] = tokens
        self._lsh.insert(name, sketch, check_duplication=False)

    def _counts(self, value: float) -> bool:
        return value > self._above or value == 1.0


def sketches(token_sets: Iterable[frozenset[int]]) -> Iterable[object]:
    """A MinHash of each set of 64-bit token hashes."""
    from datasketch import MinHash

    return MinHash.generator(
        token_sets, num_perm=PERMUTATIONS, seed=SEED, hashfunc=_low_bits, scheme="affine32"
    )


def _low_bits(token: int) -> int:
    return token & 0xFFFFFFFF  # datasketch permutes 32-bit hashes; ours are uniform already
