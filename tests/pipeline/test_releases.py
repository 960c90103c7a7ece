"""Releases: atomic, guarded, compared, retired."""

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.diff import compare
from pipeline.errors import EmptyRun, UsageError
from pipeline.files import read_json
from pipeline.guard import GuardStopped, Rails, check_rails
from pipeline.release import PINNED, _retire, find_release, releases
from tests.pipeline import toy


def rows(**counts: int) -> pa.Table:
    return pa.table({"source_name": [name for name, n in counts.items() for _ in range(n)]})


def published(folder: Path, table: pa.Table, recipe: str = "toy") -> Path:
    from pipeline.files import write_json, write_table

    write_table(table, folder / "data" / "train-00000-of-00001.parquet")
    write_json({"recipe": {"name": recipe}}, folder / "manifest.json")
    return folder


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"a": 70, "b": 9}, "110 rows became 79"),
        ({"a": 100}, "source b went from 10 rows to 0"),
        ({"a": 100, "b": 4}, "source b went from 10 rows to 4"),
    ],
)
def test_a_release_that_lost_too_much_is_not_published(tmp_path: Path, new, message) -> None:
    latest = published(tmp_path / "old", rows(a=100, b=10))
    with pytest.raises(GuardStopped, match=message):
        check_rails(latest, "toy", rows(**new), Rails(0.2, 0.5))


def test_a_lost_source_is_told_with_the_reason(tmp_path: Path) -> None:
    latest = published(tmp_path / "old", rows(a=100, b=10))
    why = {"b": "upstream_gone: no wheel of b"}
    with pytest.raises(GuardStopped, match=r"to 0 \(upstream_gone: no wheel of b\)"):
        check_rails(latest, "toy", rows(a=100), Rails(0.2, 0.5), why)


def test_a_manifest_pins_what_the_first_stage_started_from(tmp_path: Path) -> None:
    manifest = read_json(toy.run_and_publish(tmp_path, [12, 13]) / "manifest.json")
    assert manifest["sources"] == [{"number": 12}, {"number": 13}]


@pytest.mark.parametrize("new", [{"a": 95, "b": 8}, {"a": 300, "b": 10, "c": 1}])
def test_ordinary_change_is_published(tmp_path: Path, new) -> None:
    latest = published(tmp_path / "old", rows(a=100, b=10))
    check_rails(latest, "toy", rows(**new), Rails(0.2, 0.5))


def test_another_recipe_is_another_dataset(tmp_path: Path) -> None:
    latest = published(tmp_path / "old", rows(a=100))
    check_rails(latest, "other", rows(b=1), Rails(0.2, 0.5))


def test_a_run_without_rows_publishes_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmptyRun, match="no problem reached the release"):
        toy.run_and_publish(tmp_path, [])
    assert not (tmp_path / "latest").exists()


def test_equal_content_is_published_once(tmp_path: Path) -> None:
    assert toy.run_and_publish(tmp_path, [12]) == toy.run_and_publish(tmp_path, [12])
    assert len(releases(tmp_path)) == 1


def test_old_releases_go_and_pinned_ones_stay(tmp_path: Path) -> None:
    for day in range(5):
        published(tmp_path / "releases" / f"2026010{day}T000000Z-aaaaaaaa", rows(a=1))
    (releases(tmp_path)[0] / PINNED).touch()
    _retire(tmp_path, keep=2)
    assert [folder.name[7] for folder in releases(tmp_path)] == ["0", "3", "4"]


def test_a_release_is_found_by_name_and_a_wrong_one_is_one_line(tmp_path: Path) -> None:
    folder = toy.run_and_publish(tmp_path, [12])
    assert find_release(Path("latest"), tmp_path) == folder
    assert find_release(Path(folder.name), tmp_path) == folder
    with pytest.raises(UsageError, match="no such release"):
        find_release(Path("nope"), tmp_path)


def test_a_folder_that_is_no_release_can_not_be_compared(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no release there"):
        compare(tmp_path, tmp_path)
