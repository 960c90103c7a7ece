"""`kernelset.load`: a release in one line, and one line on what is wrong with it."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelset
from kernelset.problems import LEVELS, parse_levels
from pipeline.errors import KernelsetError, UsageError
from pipeline.paths import ROOT
from tests.kernelset.releases import (
    DEVICE,
    SAMPLE,
    changed_sample,
    rows_of,
    sample_rows,
    write_release,
)


def said(error: pytest.ExceptionInfo[KernelsetError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_the_sample_loads_whole_and_in_order() -> None:
    problems = kernelset.load(SAMPLE)
    assert [one.problem_id for one in problems] == [row["problem_id"] for row in sample_rows()]
    assert problems[-1] == problems[len(problems) - 1]
    assert [one.name for one in problems[2:4]] == [problems[2].name, problems[3].name]


def test_loading_needs_no_torch() -> None:
    script = (
        "import sys, kernelset; kernelset.load('data/sample')[0].program(); print('torch' in "
        "sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_filters_choose_by_level_source_and_device() -> None:
    hard = kernelset.load(SAMPLE, level="L4-L5")
    assert {one.level for one in hard} == {"L4", "L5"}
    assert len(kernelset.load(SAMPLE, source="examples", device=DEVICE[:3].lower())) == rows_of()
    assert len(kernelset.load(SAMPLE, split="train", device=DEVICE, level=["L0", "L5"])) == rows_of(
        "L0", "L5"
    )


@given(st.integers(0, 5), st.integers(0, 5))
def test_a_range_of_levels_has_both_ends(low: int, high: int) -> None:
    if low <= high:
        assert parse_levels(f"L{low}-L{high}") == set(LEVELS[low : high + 1])
    else:
        with pytest.raises(UsageError, match="range"):
            parse_levels(f"L{low}-L{high}")


def test_a_problem_is_found_by_the_first_digits_of_its_id() -> None:
    problems = kernelset.load(SAMPLE)
    assert problems.find(problems[5].problem_id[:10]) == problems[5]
    with pytest.raises(UsageError, match=f"starts 0 of {rows_of()}"):
        problems.find("zz")


def test_problems_travel_to_the_workers_of_a_data_loader() -> None:
    problems = pickle.loads(pickle.dumps(kernelset.load(SAMPLE, level="L5")))
    assert problems[0] == kernelset.load(SAMPLE, level="L5")[0]


def test_many_shards_are_one_sequence(tmp_path: Path) -> None:
    rows = sample_rows()[:45]
    problems = kernelset.load(write_release(tmp_path / "r", rows, shards=3))
    assert [one.problem_id for one in problems] == [row["problem_id"] for row in rows]


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", sample_rows()[:9], shards=3)
    (release / "data" / "train-00001-of-00003.parquet").unlink()
    with pytest.raises(kernelset.ReleaseError) as error:
        kernelset.load(release)
    assert said(error).endswith("shard missing: train-00001-of-00003.parquet")


def test_a_shard_that_only_the_manifest_knows_is_missed(tmp_path: Path) -> None:
    release = changed_sample(tmp_path / "r", lambda table: table)
    shard = release / "data" / "train-00000-of-00001.parquet"
    shard.rename(shard.with_name("validation-00000-of-00001.parquet"))
    with pytest.raises(kernelset.ReleaseError, match="shard missing: train-00000-of-00001"):
        kernelset.load(release)


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", sample_rows()[:3])
    shard = release / "data" / "train-00000-of-00001.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])
    with pytest.raises(kernelset.ReleaseError) as error:
        kernelset.load(release)
    assert "train-00000-of-00001.parquet: damaged shard" in said(error)


def test_an_older_schema_is_told_by_what_it_lacks(tmp_path: Path) -> None:
    release = changed_sample(tmp_path / "r", lambda table: table.drop_columns(["atol", "level"]))
    with pytest.raises(kernelset.ReleaseError) as error:
        kernelset.load(release)
    assert "of an older schema, without atol, level;" in said(error)


def test_a_release_of_no_rows_is_told(tmp_path: Path) -> None:
    with pytest.raises(kernelset.ReleaseError) as error:
        kernelset.load(write_release(tmp_path / "r", []))
    assert said(error).endswith("0 rows")


def test_filters_that_leave_nothing_say_what_there_is() -> None:
    with pytest.raises(kernelset.ReleaseError) as error:
        kernelset.load(SAMPLE, source="torch", device="h100")
    assert (
        f"no row of {rows_of()} with source_name torch (there are: examples {rows_of()})"
        in said(error)
    )
    assert DEVICE in said(error)


def test_no_release_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        kernelset.load(out=tmp_path)
    assert said(error).endswith("make one with: kernelset run")
