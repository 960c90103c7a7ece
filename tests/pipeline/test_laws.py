"""The four laws of DESIGN.md, section 2, held against a small flow."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pipeline.files
from pipeline.errors import StoreBusy, StoreError, UsageError
from pipeline.run import MAX_BATCHES, split
from pipeline.sandbox import SandboxBroken
from pipeline.store import Store
from tests.pipeline import toy

NUMBERS = st.lists(st.integers(0, 2000), max_size=30, unique=True)
QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@contextmanager
def dask_cluster(workers: int) -> Iterator[str]:
    """A scheduler of somebody else's; gives its address."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@contextmanager
def gpu_worker(address: str) -> Iterator[int]:
    """One more worker, which says that it has a GPU; gives its process."""
    from distributed import Client

    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--resources", "GPU=1"]
    command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with Client(address) as client, subprocess.Popen(command, **quiet) as worker:
        client.wait_for_workers(2, timeout=60)
        yield worker.pid
        worker.kill()


@QUICK
@given(NUMBERS)
def test_kept_plus_removed_plus_failed_is_what_came_in(tmp_path_factory, numbers) -> None:
    root = tmp_path_factory.mktemp("law1")
    lines = toy.run(root, numbers, square=toy.SquareSettings(fail_on=[3]))
    for line in lines:
        rows = line.result.rows
        assert rows["in"] == rows["kept"] + rows["removed"] + rows["failed"]
    split, square = lines[1].result.rows, lines[2].result.rows
    units = sum(len(str(n)) if n <= 1000 else 1 for n in numbers)
    assert split["in"] == units
    assert square["in"] == split["kept"]


@QUICK
@given(NUMBERS, st.randoms())
def test_order_of_arrival_does_not_change_a_byte(tmp_path_factory, numbers, random) -> None:
    root = tmp_path_factory.mktemp("law2")
    toy.run(root / "a", numbers)
    shuffled = list(numbers)
    random.shuffle(shuffled)
    toy.run(root / "b", shuffled)
    tables = [toy.bytes_of(root / name) for name in "ab"]
    assert (
        tables[0]["store/rank/result/kept.parquet"] == tables[1]["store/rank/result/kept.parquet"]
    )


def test_a_stage_that_needs_a_resource_runs_where_it_is_offered(tmp_path: Path) -> None:
    stages = toy.squares_need("GPU")
    with dask_cluster(workers=1) as address:
        with pytest.raises(UsageError, match="no Dask worker offers GPU; start one with"):
            toy.run_on(address, tmp_path, range(60), stages)
        with gpu_worker(address) as pid:
            toy.run_on(address, tmp_path, range(60), stages)
    logs = Store(tmp_path).cache("square").glob("log-*.jsonl")
    assert [path.name for path in logs] == [f"log-{pid}.jsonl"]


@given(st.integers(1, 20_000), st.integers(1, 64), st.integers(0, 32))
def test_every_row_is_in_one_batch_and_the_last_batches_are_small(rows, most, workers) -> None:
    batches = list(split(range(rows), most, workers))
    assert [row for batch in batches for row in batch] == list(range(rows))
    assert max(map(len, batches)) <= max(most, -(-rows // MAX_BATCHES))
    if workers and rows <= MAX_BATCHES:
        assert len(batches[-1]) == 1
    if not workers and rows <= MAX_BATCHES:
        assert len(batches) == -(-rows // most)


def test_an_unchanged_run_does_nothing(tmp_path: Path) -> None:
    toy.run(tmp_path, range(50))
    before, worked = toy.bytes_of(tmp_path), toy.worked_on(Store(tmp_path))
    lines = toy.run(tmp_path, range(50))
    assert all(line.unchanged for line in lines)
    assert toy.bytes_of(tmp_path) == before
    assert toy.worked_on(Store(tmp_path)) == worked


def test_only_new_rows_are_worked_on(tmp_path: Path) -> None:
    toy.run(tmp_path, range(200, 250))
    worked = toy.worked_on(Store(tmp_path))
    lines = toy.run(tmp_path, range(200, 252))
    fresh = sorted(set(toy.worked_on(Store(tmp_path))) - set(worked))
    assert len(toy.worked_on(Store(tmp_path))) == len(worked) + len(fresh)
    assert {row.partition("-")[0] for row in fresh} == {"f00250", "f00251"}
    assert [line.new for line in lines] == [2, 2, len(fresh), lines[3].result.rows["in"]]


def test_a_changed_setting_redoes_its_stage_and_what_follows(tmp_path: Path) -> None:
    toy.run(tmp_path, range(20))
    lines = toy.run(tmp_path, range(20), square=toy.SquareSettings(offset=1))
    assert [line.unchanged for line in lines] == [True, True, False, False]


def test_a_setting_turned_back_costs_nothing(tmp_path: Path) -> None:
    toy.run(tmp_path, range(20))
    toy.run(tmp_path, range(20), square=toy.SquareSettings(offset=1))
    lines = toy.run(tmp_path, range(20))
    assert lines[2].new == 0


def test_a_failed_row_is_tried_again_and_only_it(tmp_path: Path) -> None:
    lines = toy.run(tmp_path, range(100, 130), square=toy.SquareSettings(fail_on=[2]))
    failed = lines[2].result.rows["failed"]
    assert failed == 13
    again = toy.run(tmp_path, range(100, 130), square=toy.SquareSettings(fail_on=[2]))
    assert again[2].new == failed
    assert not again[2].unchanged


def test_a_run_cut_short_goes_on_and_ends_in_the_same_bytes(tmp_path: Path, monkeypatch) -> None:
    numbers = list(range(100, 140))
    toy.run(tmp_path / "whole", numbers)
    writes = {"left": 9}
    writer = pipeline.files.pq.ParquetWriter
    honest = writer.write_table

    def full_disk(*args, **kwargs) -> None:
        writes["left"] -= 1
        if writes["left"] < 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        honest(*args, **kwargs)

    monkeypatch.setattr(writer, "write_table", full_disk)
    with pytest.raises(StoreError, match="no space left"):
        toy.run(tmp_path / "cut", numbers)
    monkeypatch.undo()
    toy.run(tmp_path / "cut", numbers)
    assert toy.bytes_of(tmp_path / "cut") == toy.bytes_of(tmp_path / "whole")
    assert not list((tmp_path / "cut").rglob(".partial-*"))


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    toy.run(tmp_path, range(30))
    before = toy.bytes_of(tmp_path)
    kept = tmp_path / "store" / "square" / "result" / "kept.parquet"
    kept.write_bytes(kept.read_bytes()[:-40])
    toy.run(tmp_path, range(30))
    assert toy.bytes_of(tmp_path) == before


def test_a_damaged_memory_costs_only_its_rows(tmp_path: Path) -> None:
    toy.run(tmp_path, range(30))
    before = toy.bytes_of(tmp_path)
    part = sorted((tmp_path / "store" / "square").glob("memo-*/part-*.parquet"))[0]
    part.write_bytes(b"PAR1")
    (tmp_path / "store" / "square" / "result" / "manifest.json").unlink()
    lines = toy.run(tmp_path, range(30))
    assert 0 < lines[2].new <= 4
    assert toy.bytes_of(tmp_path) == before


def test_a_row_that_our_own_code_stumbles_over_is_one_failed_row(tmp_path: Path) -> None:
    stumbles = toy.SquareSettings(stumble_on=[9])
    lines = toy.run(tmp_path, [111, 112, 191], square=stumbles)
    assert lines[2].result.rows == {"in": 9, "kept": 8, "removed": 0, "failed": 1}
    (failed,) = lines[2].result.table("failed").to_pylist()
    assert failed["reason"] == "stage_error"
    assert failed["detail"].startswith("ZeroDivisionError: a bug of ours (toy.py, line ")


def test_trouble_that_concerns_every_row_ends_the_run(tmp_path: Path) -> None:
    def no_sandbox(*_: object) -> None:
        raise SandboxBroken("it does not start")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "log", no_sandbox)
        with pytest.raises(SandboxBroken):
            toy.run(tmp_path, [111])


def test_no_rows_is_a_valid_run(tmp_path: Path) -> None:
    lines = toy.run(tmp_path, [])
    for line in lines:
        assert line.result.rows == {"in": 0, "kept": 0, "removed": 0, "failed": 0}
    for stage, line in zip(toy.STAGES, lines, strict=True):
        assert pq.read_schema(line.result.kept_path).equals(stage.gives)


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path).lock(), pytest.raises(StoreBusy, match="in use by process"):
        toy.run(tmp_path, [1])


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "layout.json").write_text('{"layout": 99}')
    with pytest.raises(StoreError, match="made by another kernelset"):
        toy.run(tmp_path, [1])
