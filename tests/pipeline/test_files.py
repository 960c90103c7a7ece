"""Half-written is not written."""

import errno
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.errors import StoreError
from pipeline.files import read_table, sweep, whole_file, whole_folder, write_table

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", None]})


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(ValueError, match="halfway"), whole_file(target) as partial:
        partial.write_text("new")
        raise ValueError("halfway")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_replaced_in_one_piece(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for text in ("old", "new"):
        with whole_folder(target) as partial:
            (partial / "file").write_text(text)
            (partial / text).mkdir()
    assert (target / "file").read_text() == "new"
    assert sorted(path.name for path in target.iterdir()) == ["file", "new"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    full = pytest.raises(StoreError, match="no space left on the disk")
    with full as error, whole_file(tmp_path / "file") as partial:
        partial.write_text("something")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert "file" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_equal_tables_are_equal_bytes(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "a.parquet")
    write_table(pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]).combine_chunks(),
                tmp_path / "b.parquet")  # fmt: skip
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(StoreError, match=r"a\.parquet: damaged table"):
        read_table(path)


def test_what_a_killed_run_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / "store" / ".partial-1-folder").mkdir(parents=True)
    (tmp_path / "store" / ".partial-1-file").write_text("x")
    (tmp_path / "store" / "whole").write_text("x")
    sweep(tmp_path)
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["whole"]


def test_a_sweep_takes_a_half_made_link_and_leaves_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "manifest.json").write_text("{}")
    (tmp_path / ".partial-1-latest").symlink_to("release")
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert (tmp_path / "release" / "manifest.json").exists()
