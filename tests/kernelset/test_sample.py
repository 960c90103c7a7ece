"""`kernelset sample`: spread over clusters, repeatable, and never torn where rows hang together."""

import hashlib
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelset
from kernelset.sample import Filters, Request, sample
from kernelset.sample.allocation import round_stochastically, shares, weights
from kernelset.sample.clusters import cluster
from kernelset.sample.draw import draw
from kernelset.sample.filters import parse_window
from kernelset.sample.groups import connected, groups, near_pairs
from kernelset.sample.split import VALIDATION, split
from kernelset.sample.vectors import Embedder, Vectors
from pipeline.errors import UsageError
from pipeline.paths import ROOT
from schemas.problem import RELEASED
from tests.kernelset.releases import DEVICE, SAMPLE, rows_of, sample_rows, write_release

cluster_sizes = st.lists(st.integers(1, 400), min_size=1, max_size=30)
seeds = st.integers(0, 2**31)


def by_digest(text: str) -> Vectors:
    """An embedder that needs no weights: the digest of the text as a unit vector."""
    values = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8).astype(np.float32)
    centred = values - 127.5
    return centred / np.linalg.norm(centred)


LARGE = 100  # rows of the largest origin
EMBEDDER = Embedder("digest", by_digest, near_l2=0.05)


def rows_in(sizes: list[int]) -> tuple[list[str], list[int]]:
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    return [f"row {index}" for index in range(len(labels))], labels


@given(cluster_sizes, st.integers(1, 2000), seeds)
def test_a_draw_has_exactly_the_size_wanted_and_no_row_twice(
    sizes: list[int], size: int, seed: int
) -> None:
    ids, labels = rows_in(sizes)
    drawn = draw(ids, labels, size, seed)
    assert len(drawn.rows) == min(size, len(ids)) == len(set(drawn.rows))
    assert sum(drawn.counts) == len(drawn.rows)


@given(cluster_sizes, st.integers(1, 2000), seeds)
def test_each_cluster_gives_the_floor_or_the_ceiling_of_its_share(
    sizes: list[int], size: int, seed: int
) -> None:
    expected = shares(sizes, size)
    assert math.isclose(sum(expected), min(size, sum(sizes)), rel_tol=1e-9)
    for count, share, rows in zip(
        round_stochastically(expected, seed), expected, sizes, strict=True
    ):
        assert math.floor(share) <= count <= math.ceil(share) <= rows


@given(cluster_sizes, st.integers(1, 2000), seeds)
def test_a_draw_does_not_depend_on_the_order_of_the_rows(
    sizes: list[int], size: int, seed: int
) -> None:
    ids, labels = rows_in(sizes)
    first = {ids[row] for row in draw(ids, labels, size, seed).rows}
    order = list(range(len(ids)))
    random.Random(seed).shuffle(order)
    again = draw([ids[i] for i in order], [labels[i] for i in order], size, seed)
    assert {ids[order[row]] for row in again.rows} == first


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=8), st.integers(1, 60))
def test_over_many_seeds_each_cluster_gives_its_share(sizes: list[int], size: int) -> None:
    expected, tries = shares(sizes, size), 600
    drawn = np.array([round_stochastically(expected, seed) for seed in range(tries)])
    # The standard error of a count that is floor or ceiling is at most 0.5 / sqrt(600) = 0.0204.
    assert np.abs(drawn.mean(axis=0) - expected).max() < 5 * 0.0204


def test_within_a_cluster_every_row_has_the_same_chance() -> None:
    ids, labels = rows_in([20])
    hits = np.zeros(20)
    for seed in range(2000):
        hits[draw(ids, labels, 5, seed).rows] += 1
    assert np.abs(hits / 2000 - 0.25).max() < 0.05


def test_the_weights_are_inverse_logarithms_of_the_clusters_sizes() -> None:
    raw = [1 / math.log(2), 1 / math.log(11), 1 / math.log(1001)]
    assert weights([1, 10, 1000]) == pytest.approx([one / sum(raw) for one in raw])
    assert shares([1000, 1000, 10], 12) == pytest.approx(
        [12 * one for one in weights([1000, 1000, 10])]
    )


def test_what_a_small_cluster_lacks_goes_to_the_others() -> None:
    assert shares([1, 50, 50], 21) == pytest.approx([1, 10, 10])


@given(cluster_sizes, st.integers(1, 2000))
def test_a_larger_share_never_makes_a_cluster_smaller(sizes: list[int], size: int) -> None:
    less, more = shares(sizes, size), shares(sizes, size + 1)
    assert all(b >= a - 1e-6 for a, b in zip(less, more, strict=True))


def test_k_means_finds_clusters_that_are_there_and_finds_them_again() -> None:
    generator = np.random.default_rng(0)
    centres = np.eye(8, dtype=np.float32)
    rows = np.concatenate([c + 0.01 * generator.standard_normal((30, 8)) for c in centres])
    labels = cluster(rows.astype(np.float32), 8, seed=3)
    assert sorted(set(labels)) == list(range(8)) and labels[0] == 0
    assert cluster(rows.astype(np.float32), 8, seed=3) == labels
    assert cluster(rows[:5].astype(np.float32), 8, seed=3) == [0, 1, 2, 3, 4]


def test_equal_vectors_make_no_empty_cluster() -> None:
    labels = cluster(np.ones((30, 4), np.float32), 7, seed=0)
    assert sorted(set(labels)) == list(range(len(set(labels))))


ties = st.integers(1, 40).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=40),
    )
)


@given(ties, st.floats(0, 0.9), seeds)
def test_rows_that_hang_together_are_never_split(
    graph: tuple[int, list[tuple[int, int]]], share: float, seed: int
) -> None:
    count, pairs = graph
    sides = split(connected(count, pairs), share, seed)
    assert all(sides[left] == sides[right] for left, right in pairs)
    assert sides.count(VALIDATION) <= share * count
    assert sides.count(VALIDATION) < count


def test_the_largest_group_is_always_for_training() -> None:
    for seed in range(20):
        assert split([0] * 3 + [1] * 4 + [2] * 2, 0.9, seed)[3:7] == ["train"] * 4


def test_origin_family_computation_and_nearness_each_hold_rows_together() -> None:
    base = {"origin": "a", "family_id": "f", "graph_sha256": "g"}
    other = {"origin": "b", "family_id": "x", "graph_sha256": "y"}
    far, apart = np.eye(2, dtype=np.float32), 0.1
    for column in base:
        assert groups([base, other | {column: base[column]}], far, apart) == [0, 0]
    assert groups([base, other], far, apart) == [0, 1]
    assert groups([base, other], far[[0, 0]], apart) == [0, 0]


def test_near_pairs_are_told_by_the_true_l2_distance() -> None:
    angle = 2 * math.asin(0.2 / 2)  # two unit vectors 0.2 apart
    pair = np.array([[1, 0], [math.cos(angle), math.sin(angle)]], np.float32)
    assert near_pairs(pair, 0.21) == [(0, 1)]
    assert near_pairs(pair, 0.19) == []


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with three origins, one family over two of them, and two shards."""
    rows = [dict(row) for row in sample_rows()]
    for index, row in enumerate(rows):
        row["origin"] = "large" if index < LARGE else f"small {index % 5}"
    rows[LARGE]["family_id"] = rows[LARGE + 1]["family_id"]
    return write_release(tmp_path_factory.mktemp("sample") / "r", rows, shards=2)


def made(release: Path, folder: Path, **changes: Any) -> dict[str, Any]:
    request = Request(**({"size": 60, "filters": Filters(), "validation": 0.2} | changes))
    return sample(release, request, folder, root=release.parent, embedder=EMBEDDER)


def test_a_sample_is_a_release_that_loads(release: Path, tmp_path: Path) -> None:
    size = rows_of("L2", "L4") - 2
    middle = Filters(levels=frozenset(["L2", "L4"]))
    manifest = made(release, tmp_path / "s", size=size, filters=middle)
    problems = kernelset.load(tmp_path / "s")
    assert len(problems) == size == len({one.problem_id for one in problems})
    assert {one.level for one in problems} == {"L2", "L4"}
    assert manifest["rows"]["left_out"] == {"level": rows_of() - rows_of("L2", "L4")}
    assert json.loads((tmp_path / "s" / "manifest.json").read_text())["recipe"]["seed"] == 0
    rows = datasets.load_dataset(
        "parquet", data_dir=str(tmp_path / "s" / "data"), cache_dir=str(tmp_path / "cache")
    )
    assert sum(part.num_rows for part in rows.values()) == size


def test_equal_requests_give_equal_bytes_and_another_seed_other_rows(
    release: Path, tmp_path: Path
) -> None:
    first, again = made(release, tmp_path / "a"), made(release, tmp_path / "b")
    assert first["content"] == again["content"]
    for path in (tmp_path / "a").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    assert made(release, tmp_path / "c", seed=1)["content"] != first["content"]


def test_shards_and_their_order_are_no_matter(release: Path, tmp_path: Path) -> None:
    rows = [one.row | {"baselines": []} for one in kernelset.load(release)]
    other = write_release(tmp_path / "other", rows[::-1], shards=5)
    assert made(other, tmp_path / "a")["content"] == made(release, tmp_path / "b")["content"]


def test_validation_has_whole_origins_and_families(release: Path, tmp_path: Path) -> None:
    made(release, tmp_path / "s", size=rows_of())
    sides: dict[str, set[str]] = {}
    for one in kernelset.load(tmp_path / "s"):
        sides.setdefault(one.row["origin"], set()).add(one.split)
        sides.setdefault(one.row["family_id"], set()).add(one.split)
    assert all(len(side) == 1 for side in sides.values())
    assert set().union(*sides.values()) == {"train", "validation"}


def test_the_hidden_shapes_are_a_release_of_their_own(release: Path, tmp_path: Path) -> None:
    made(release, tmp_path / "s")
    seen, hidden = kernelset.load(tmp_path / "s"), kernelset.load(tmp_path / "s" / "hidden_shapes")
    assert not any(shape.held_out for one in seen for shape in one.shapes)
    assert all(shape.held_out for one in hidden for shape in one.shapes)
    assert {one.problem_id for one in hidden} <= {one.problem_id for one in seen}
    for one in (*seen, *hidden):
        assert {b.shape_id for b in one.baselines} <= {shape.shape_id for shape in one.shapes}


def test_the_window_of_run_times_excludes_its_ends(release: Path, tmp_path: Path) -> None:
    window = Filters(window_ms=(1.0, 5.0), device=DEVICE, mode="eager")
    manifest = made(release, tmp_path / "s", size=500, filters=window)
    times = [p.baseline(DEVICE, mode="eager").median_ms for p in kernelset.load(tmp_path / "s")]
    assert (
        len(times)
        == manifest["rows"]["eligible"]
        == rows_of() - sum(manifest["rows"]["left_out"].values())
    )
    assert all(time is not None and 1.0 < time < 5.0 for time in times)


@pytest.mark.parametrize(
    ("text", "window"),
    [("1ms-1000ms", (1, 1000)), ("500us-2s", (0.5, 2000)), ("1ms - 2ms", (1, 2))],
)
def test_a_window_is_read_with_its_units(text: str, window: tuple[float, float]) -> None:
    assert parse_window(text) == pytest.approx(window)


@pytest.mark.parametrize("text", ["1-1000", "5ms-1ms", "ms", "1ms"])
def test_a_window_that_is_none_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="runtime"):
        parse_window(text)


def test_filters_that_leave_nothing_say_by_what(release: Path, tmp_path: Path) -> None:
    window = Filters(levels=frozenset(["L5"]), window_ms=(1, 2), device="h100")
    hard = rows_of("L5")
    with pytest.raises(
        kernelset.ReleaseError, match=rf"by level {rows_of() - hard}, no_\w+ {hard}"
    ):
        made(release, tmp_path / "s", filters=window)
    assert not (tmp_path / "s").exists()


def test_a_release_is_never_replaced_by_a_sample(release: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds other things"):
        made(release, SAMPLE)
    made(release, tmp_path / "s", size=5)
    made(release, tmp_path / "s", size=6)  # an earlier sample is
    assert len(kernelset.load(tmp_path / "s")) == 6


def test_a_sample_can_be_exported_and_sampled_again(release: Path, tmp_path: Path) -> None:
    made(release, tmp_path / "s", size=30)
    made(tmp_path / "s", tmp_path / "again", size=10)
    again = kernelset.load(tmp_path / "again")
    assert len(again) == 10
    shard = next((tmp_path / "again" / "data").glob("*.parquet"))
    assert pq.read_schema(shard).names == [
        *RELEASED.names,
        "cluster",
        "cluster_rows",
        "cluster_expected",
    ]


def test_the_command_draws_with_the_embedder_of_decontamination(tmp_path: Path) -> None:
    options = ["--size", "3", "--levels", "L0", "--release", SAMPLE, "--out", tmp_path / "s"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "stages",
            "sample",
            *map(str, options),
            "--cache",
            str(tmp_path / "c"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"left out by level: {rows_of() - rows_of('L0')}" in done.stdout
    assert f"3 of {rows_of('L0')} rows from " in done.stdout
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["recipe"]["embedder"].startswith("minilm/")
