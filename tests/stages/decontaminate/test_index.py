"""The searches of each tier: true L2, exact Jaccard, the same answer alone or among others."""

import numpy as np
import pytest

from stages.decontaminate.index import BenchmarkIndex, Features
from stages.decontaminate.verdict import hits_of

SIZE = 32


def features(
    vector: np.ndarray, tokens: frozenset[int] = frozenset({1}), name: str = "p"
) -> Features:
    return Features(name, f"form of {name}", tokens, vector.astype(np.float32))


def at_l2(distance: float) -> np.ndarray:
    """A unit vector at this true L2 distance from the first axis."""
    cosine = 1 - distance**2 / 2
    vector = np.zeros(SIZE)
    vector[:2] = cosine, (1 - cosine**2) ** 0.5
    return vector


AXIS = at_l2(0.0)


@pytest.mark.parametrize(("distance", "removed"), [(0.44, True), (0.46, False), (0.60, False)])
def test_true_l2_decides_and_not_its_square(distance: float, removed: bool) -> None:
    index = BenchmarkIndex({"b/1/1": features(AXIS)})
    found = index.nearest(features(at_l2(distance), frozenset({2}), "row"))
    assert found.l2 == pytest.approx(distance, abs=1e-5)
    assert found.cosine == pytest.approx(1 - distance**2 / 2, abs=1e-5)
    assert bool(hits_of(found, jaccard=0.8, l2=0.45)) is removed


def test_equal_vectors_are_at_distance_zero_also_among_many() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, SIZE))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = BenchmarkIndex({f"b/1/{i}": features(v, name=str(i)) for i, v in enumerate(vectors)})
    for place in (0, 17, 299):
        found = index.nearest(features(vectors[place], name="row"))
        assert (found.l2, found.l2_problem) == (0.0, f"b/1/{place}")


def test_of_equally_near_problems_the_first_is_named() -> None:
    index = BenchmarkIndex({f"b/1/{i}": features(AXIS, name=str(i)) for i in range(20)})
    found = index.nearest(features(AXIS, name="row"))
    assert (found.l2_problem, found.jaccard_problem) == ("b/1/0", "b/1/0")


def test_jaccard_is_exact_against_every_problem() -> None:
    rng = np.random.default_rng(1)
    sets = [
        frozenset(map(int, rng.choice(200, size=rng.integers(1, 80), replace=False)))
        for _ in range(60)
    ]
    index = BenchmarkIndex({f"b/1/{i}": features(AXIS, s) for i, s in enumerate(sets)})
    for _ in range(40):
        row = frozenset(map(int, rng.choice(250, size=40, replace=False)))
        exact = max(len(row & s) / len(row | s) for s in sets)
        assert index.nearest(features(AXIS, row)).jaccard == exact


def test_a_program_without_tokens_is_near_nothing() -> None:
    index = BenchmarkIndex({"b/1/1": features(AXIS)})
    assert index.nearest(features(AXIS, frozenset())).jaccard == 0.0


def test_an_untraced_program_has_no_graph_in_common_with_an_untraced_problem() -> None:
    index = BenchmarkIndex({"b/1/1": features(AXIS)})
    found = index.nearest(features(AXIS, name="row"))
    assert found.same_graph is None and found.same_ops is None
