"""The memory of a map stage: what it can't hold costs one row."""

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.memo import COMPACT_ABOVE, Memo
from pipeline.stage import Failed, Kept, Removed

ADDED = [pa.field("code", pa.string(), nullable=False)]


def test_a_lone_surrogate_fails_its_row_and_the_part_is_written(tmp_path: Path) -> None:
    memo = Memo(tmp_path, ADDED)
    part = memo.add(
        [("good", [Kept({"code": "x = 1"})]), ("bad", [Kept({"code": "x = '\ud800'"})])]
    )
    rows = {row["key"]: row for row in memo.read([part.name]).to_pylist()}
    assert rows["good"]["code"] == "x = 1"
    assert (rows["bad"]["status"], rows["bad"]["reason"]) == ("failed", "unwritable_row")


def test_a_column_that_the_stage_forgot_or_made_up_is_a_bug_and_stops(tmp_path: Path) -> None:
    memo = Memo(tmp_path, ADDED)
    with pytest.raises(KeyError, match="colour"):
        memo.add([("a", [Kept({"code": "x", "colour": "red"})])])
    with pytest.raises(KeyError, match="code"):
        memo.add([("a", [Kept({})])])


def test_many_parts_become_one_and_failed_rows_are_forgotten(tmp_path: Path) -> None:
    memo = Memo(tmp_path, ADDED)
    for number in range(COMPACT_ABOVE + 1):
        outcome = Failed("later") if number == 7 else Removed("no", f"number {number}")
        memo.add([(f"row {number}", [outcome])])
    before = memo.load().to_pylist()
    memo.compact()
    assert len(list(tmp_path.glob("part-*.parquet"))) == 1
    after = memo.load().to_pylist()
    assert sorted(r["key"] for r in after) == sorted(r["key"] for r in before)
    assert "row 7" not in {r["key"] for r in after}


def test_a_row_with_one_failed_unit_is_tried_again_whole(tmp_path: Path) -> None:
    memo = Memo(tmp_path, ADDED)
    memo.add([("file", [Kept({"code": "a"}), Failed("timeout")])])
    assert memo.load().num_rows == 0
    memo.add([("file", [Kept({"code": "a"}), Kept({"code": "b"})]), ("other", [Removed("no")])])
    assert [row["key"] for row in memo.load().to_pylist()] == ["file", "file", "other"]
