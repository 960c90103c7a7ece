"""The dedupe stage: what goes, what stays, and why."""

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from pipeline.source.shares import SourceWipedOut
from pipeline.source.tokens import jaccard, token_set
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from stages.dedupe import STAGE
from stages.dedupe.settings import DedupeSettings
from tests.stages.dedupe.programs import of_words, pair_at, row

HERE = Workplace(cache=Path("unused"), shared=Path("unused"), data=Path("unused"))
RELU = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.rand(8, 16)]
def get_init_inputs():
    return []
"""


def dedupe(rows: list[Row], **settings: float) -> list[Outcome]:
    return STAGE.work(rows, DedupeSettings(**settings), HERE)


def kept_ids(rows: list[Row], outcomes: list[Outcome]) -> set[str]:
    return {r["problem_id"] for r, o in zip(rows, outcomes, strict=True) if isinstance(o, Kept)}


def test_of_equal_canonical_forms_one_stays_and_stands_for_all() -> None:
    rows = [row(RELU), row("# note\n" + RELU, path="b.py"), row(RELU, path="c.py")]
    outcomes = dedupe(rows)
    assert [type(o) for o in outcomes] == [Kept, Removed, Removed]
    assert outcomes[0].columns == {"copies": 3}
    assert {(o.reason, o.matched_id) for o in outcomes[1:]} == {
        ("exact_copy", rows[0]["problem_id"])
    }


def test_a_renamed_and_resized_copy_goes_with_its_twin_as_evidence() -> None:
    other = (
        RELU.replace("x", "tensor")
        .replace("8, 16", "512, 1024")
        .replace("torch.relu", "nn.functional.relu")
    )
    rows = [row(RELU), row(other)]
    kept, gone = dedupe(rows)
    assert kept == Kept({"copies": 2})
    assert (gone.reason, gone.metric, gone.value) == ("shape_blind_copy", "shape_blind_equal", 1.0)
    assert gone.matched_id == rows[0]["problem_id"]


def test_every_pair_above_the_threshold_is_found_and_none_below_is_touched() -> None:
    near = [pair_at(0.81, f"n{number}_", size=200 + number // 2) for number in range(200)]
    apart = [pair_at(0.79, f"m{number}_", size=400) for number in range(50)]
    values = [jaccard(token_set(one), token_set(other)) for one, other in near]
    assert all(0.80 < value < 0.82 for value in values)
    assert all(0.78 < jaccard(token_set(one), token_set(other)) < 0.8 for one, other in apart)

    rows = [row(code) for pair in (*near, *apart) for code in pair]
    gone = [o for o in dedupe(rows) if isinstance(o, Removed)]
    assert {(o.reason, o.metric) for o in gone} == {("near_copy", "jaccard")}
    assert sorted(o.value for o in gone) == sorted(values)


def test_a_neighbour_of_a_removed_row_stays() -> None:
    words = [f"w{i}" for i in range(60)]
    a, b, c = (of_words(*words[i * 5 : 45 + i * 5]) for i in range(3))
    assert jaccard(token_set(a), token_set(b)) > 0.8 > jaccard(token_set(a), token_set(c))
    rows = [row(a, path="1"), row(b, path="2"), row(c, path="3")]
    assert kept_ids(rows, dedupe(rows)) == {rows[0]["problem_id"], rows[2]["problem_id"]}


def test_two_pairs_in_one_neighbourhood_keep_one_of_each() -> None:
    first, second = pair_at(0.9, "a"), pair_at(0.9, "b")
    rows = [row(code) for code in (*first, *second)]
    outcomes = dedupe(rows)
    assert [isinstance(o, Kept) for o in outcomes].count(True) == 2
    for r, o in zip(rows, outcomes, strict=True):
        if isinstance(o, Removed):
            partner = rows[[0, 1, 2, 3][rows.index(r) ^ 1]]
            assert o.matched_id == partner["problem_id"]


def test_the_freest_licence_is_kept_then_the_most_used_then_the_shortest() -> None:
    one, other = pair_at(0.9, "x")
    apache, mit = row(one, licence="Apache-2.0"), row(other, licence="MIT")
    assert kept_ids([apache, mit], dedupe([apache, mit])) == {mit["problem_id"]}
    often, once = row(one, path="z"), row(other, path="a")
    rows = [once, often, often]
    assert kept_ids(rows, dedupe(rows)) == {often["problem_id"]}


def test_the_order_of_arrival_changes_nothing() -> None:
    rows = [row(code) for n in range(12) for code in pair_at(0.85, f"o{n}", size=80)] * 2
    expected = kept_ids(rows, dedupe(rows))
    for seed in range(3):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert kept_ids(shuffled, dedupe(shuffled)) == expected


def test_copies_add_up_to_the_rows_that_came() -> None:
    rows = [row(RELU), row("# n\n" + RELU), row(RELU.replace("x", "y"))]
    rows += [row(code) for n in range(5) for code in pair_at(0.9, f"c{n}")]
    outcomes = dedupe(rows)
    assert sum(o.columns["copies"] for o in outcomes if isinstance(o, Kept)) == len(rows)


def test_every_removed_row_names_a_kept_one() -> None:
    rows = [
        row(RELU),
        row("# n\n" + RELU),
        row(RELU.replace("x", "y")),
        row(RELU.replace("x", "z")),
    ]
    outcomes = dedupe(rows)
    kept = kept_ids(rows, outcomes)
    assert all(o.matched_id in kept for o in outcomes if isinstance(o, Removed))


def test_a_lower_threshold_removes_a_superset() -> None:
    rows = [
        row(code)
        for n, j in enumerate((0.5, 0.65, 0.75, 0.85, 0.95))
        for code in pair_at(j, f"t{n}")
    ]
    kept = [kept_ids(rows, dedupe(rows, jaccard=j)) for j in (0.6, 0.7, 0.8, 0.9, 1.0)]
    assert all(one < other for one, other in itertools.pairwise(kept))


def test_at_threshold_one_only_equal_token_sets_go() -> None:
    # The same tokens in another order, so that the shape-blind forms differ.
    one, other = of_words("a", "b", "c"), of_words("c", "b", "a")
    rows = [row(one), row(other), row(of_words("a", "b", "d"))]
    outcomes = dedupe(rows, jaccard=1.0)
    assert Counter(type(o) for o in outcomes) == {Kept: 2, Removed: 1}


def test_tiny_programs_do_not_collapse_into_one() -> None:
    rows = [row("cat"), row("dog"), row("cat", path="2")]
    assert len(kept_ids(rows, dedupe(rows))) == 2


def test_a_program_that_can_not_be_parsed_fails_alone() -> None:
    broken = {**row(RELU), "problem_id": "0" * 32, "code": "def ("}
    outcomes = dedupe([broken, row(RELU)])
    assert isinstance(outcomes[0], Failed) and isinstance(outcomes[1], Kept)


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_one_row_are_fine(count: int) -> None:
    assert len(dedupe([row(RELU)] * count)) == count


def test_a_run_that_would_wipe_out_a_source_stops_with_one_line() -> None:
    words = [f"w{i}" for i in range(100)]
    rows = [row(of_words(*words, f"last{n}"), path=str(n)) for n in range(30)]
    with pytest.raises(SourceWipedOut, match=r"29 of 30 .*'ours'.*max_share_of_source"):
        dedupe(rows, guard_from_rows=20)
    assert len(kept_ids(rows, dedupe(rows, guard_from_rows=20, max_share_of_source=1.0))) == 1


def test_exact_copies_never_trip_the_guard() -> None:
    rows = [row(RELU, path=str(n)) for n in range(50)]
    assert len(kept_ids(rows, dedupe(rows, guard_from_rows=5, max_share_of_source=0.1))) == 1
