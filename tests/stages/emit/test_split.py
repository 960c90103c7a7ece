"""The split keeps together what belongs together."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from stages.emit.split import split_by_origin

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "problem_id": st.uuids().map(str),
            "origin": st.sampled_from("abcdefgh"),
            "family_id": st.integers(0, 400).map(str),
        }
    ),
    max_size=80,
)


@given(ROWS, st.floats(0, 0.49))
def test_one_origin_and_one_family_are_on_one_side(rows, share) -> None:
    sides = defaultdict(set)
    for row, split in zip(rows, split_by_origin(rows, share), strict=True):
        sides["origin", row["origin"]].add(split)
        sides["family", row["family_id"]].add(split)
    assert all(len(splits) == 1 for splits in sides.values())


@given(ROWS, st.floats(0, 0.49))
def test_validation_never_exceeds_its_share(rows, share) -> None:
    splits = split_by_origin(rows, share)
    assert splits.count("validation") <= share * len(rows)


@given(ROWS, st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random) -> None:
    split = dict(zip((r["problem_id"] for r in rows), split_by_origin(rows, 0.2), strict=True))
    shuffled = list(rows)
    random.shuffle(shuffled)
    again = dict(
        zip((r["problem_id"] for r in shuffled), split_by_origin(shuffled, 0.2), strict=True)
    )
    assert split == again


def test_some_rows_are_held_out_when_there_are_many_origins() -> None:
    rows = [
        {"problem_id": f"{o}{i}", "origin": o, "family_id": f"{o}{i}"}
        for o in "abcdefghijklmnopqrst"
        for i in range(5)
    ]
    assert split_by_origin(rows, 0.1).count("validation") == 10


def test_a_single_origin_has_no_validation_set() -> None:
    rows = [{"problem_id": str(i), "origin": "a", "family_id": str(i)} for i in range(9)]
    assert set(split_by_origin(rows, 0.4)) == {"train"}
