"""The searches of each tier: true L2, exact Jaccard, the same answer alone or among others."""

import numpy as np
import pytest

from pipeline.source.tokens import jaccard
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


def numbers(index: BenchmarkIndex, rows: list[Features], batch: int) -> list[tuple[object, ...]]:
    """What is measured of each row, asked for in batches of this size."""
    batches = [rows[start : start + batch] for start in range(0, len(rows), batch)]
    return [
        (n.jaccard, n.jaccard_problem, n.l2, n.cosine, n.l2_problem)
        for rows in batches
        for n in index.nearest_all(rows)
    ]


def test_the_answer_to_a_row_is_the_same_to_the_last_bit_in_any_batch_and_order() -> None:
    """Compared with every problem in float64, one by one; many problems are nearly as near."""
    rng = np.random.default_rng(2)
    around = rng.normal(size=(6, SIZE))
    vectors = np.concatenate([around + rng.normal(size=(6, SIZE)) * off for off in (0, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2) * 5])  # fmt: skip
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    sets = [frozenset(map(int, rng.choice(60, size=rng.integers(0, 30)))) for _ in vectors]
    problems = {
        f"b/1/{i}": features(vector, tokens, str(i))
        for i, (vector, tokens) in enumerate(zip(vectors, sets, strict=True))
    }
    index = BenchmarkIndex(problems)
    rows = [*problems.values()]
    for size in rng.integers(0, 40, size=200):
        near = vectors[rng.integers(len(vectors))] + rng.normal(size=SIZE) * 1e-3
        tokens = frozenset(map(int, rng.choice(90, size=size)))
        rows.append(features(near / np.linalg.norm(near), tokens, "row"))
    alone = numbers(index, rows, batch=1)
    for (similar, by_tokens, l2, _, by_vector), row in zip(alone, rows, strict=True):
        distances = [
            float(np.sqrt(((v.astype(np.float64) - row.vector.astype(np.float64)) ** 2).sum()))
            for v in vectors
        ]
        assert (l2, by_vector) == (min(distances), f"b/1/{distances.index(min(distances))}")
        exact = [jaccard(row.tokens, tokens) for tokens in sets]
        assert (similar, by_tokens) == (max(exact), f"b/1/{exact.index(max(exact))}")
    for batch in (7, 64, len(rows)):
        assert numbers(index, rows, batch) == alone
    order = rng.permutation(len(rows))
    shuffled = numbers(index, [rows[place] for place in order], batch=50)
    assert shuffled == [alone[place] for place in order]


def test_rows_with_and_without_a_vector_may_stand_together() -> None:
    index = BenchmarkIndex({"b/1/1": features(AXIS), "b/1/2": features(at_l2(1.0))})
    bare = Features("row", "form", frozenset({1}), None)
    found = index.nearest_all([bare, features(at_l2(1.0)), bare])
    assert [n.l2_problem for n in found] == ["", "b/1/2", ""]
    assert found[0].l2 == float("inf") and found[1].l2 == 0.0
    assert index.nearest_all([]) == []
