"""Workers: their number and place change nothing, and what kills them costs one row."""

import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

from pipeline import cluster
from pipeline.batch import Batch, BatchDone
from pipeline.cluster import TRIES
from pipeline.errors import ClusterLost
from pipeline.memo import Memo, added_columns
from pipeline.rows import RowFile
from pipeline.stage import MapStage, Workplace
from pipeline.store import Store
from stages import STAGES
from tests.pipeline import toy
from tests.pipeline.elsewhere import Elsewhere, dask_elsewhere

NUMBERS = list(range(7, 400, 11))
DEADLY = [111, 191, 112, 118, 113]  # a row of 9 kills its worker, one of 8 eats its memory
DEADLY_SETTINGS = toy.SquareSettings(die_on=[9], eat_on=[8])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Iterator[Elsewhere]:
    folder = tmp_path_factory.mktemp("elsewhere")
    with dask_elsewhere(folder, 2, "--memory-limit", "600MB") as cluster:
        yield cluster


def test_workers_do_not_change_a_byte_wherever_they_are(elsewhere, tmp_path: Path) -> None:
    for workers in (0, 1, 2):
        toy.run(tmp_path / str(workers), NUMBERS, workers=workers)
    toy.run_on(elsewhere.address, tmp_path / "there", NUMBERS)
    none, one, two, there = (toy.bytes_of(tmp_path / name) for name in ("0", "1", "2", "there"))
    assert none == one == two == there
    [log, *more] = (Store(tmp_path / "there").cache("square")).glob("log-*.jsonl")
    assert len(more) == 1, f"both workers worked, not {log} alone"


def test_a_row_that_kills_its_worker_three_times_is_one_failed_row(elsewhere, tmp_path) -> None:
    lines = toy.run_on(elsewhere.address, tmp_path, DEADLY, square=DEADLY_SETTINGS)
    assert lines[2].result.rows == {"in": 15, "kept": 13, "removed": 0, "failed": 2}
    failed = lines[2].result.table("failed").to_pylist()
    assert [(row["stage"], row["row_id"], row["reason"]) for row in failed] == [
        ("square", "f00118-2", "worker_died"),
        ("square", "f00191-1", "worker_died"),
    ]
    assert {row["detail"] for row in failed} == {
        "the worker died 3 times on this row: a crash, or more than engine.worker_memory"
    }
    tried = Counter(toy.worked_on(Store(tmp_path)))
    # Three times alone; before that with its batch, where the death of a neighbour counts too.
    assert all(TRIES < tried[row["row_id"]] <= 2 * TRIES for row in failed)


def test_nothing_big_travels(tmp_path: Path) -> None:
    """A task names rows; it does not carry them. Whatever the rows, it is as large as its stage."""
    for stage in STAGES:
        if isinstance(stage, MapStage):
            place = Workplace(tmp_path, tmp_path, tmp_path)
            rows = RowFile(tmp_path / "kept.parquet", stage.reads)
            memo = Memo(tmp_path, added_columns(stage, ()))
            needed = {"sources": ["torch"]} if stage.start else {}
            settings = stage.settings(**needed)
            batch = Batch(stage, settings, place, rows, tuple(range(stage.batch)), memo)
            assert len(cloudpickle.dumps(batch)) < 20_000, stage.name
    assert len(pickle.dumps(BatchDone("part", 16, 16, 0))) < 200


def test_a_scheduler_without_workers_is_not_waited_for_forever(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(cluster, "LOOK_S", 0.2)
    monkeypatch.setattr(cluster, "LOST_S", 1.0)
    with (
        dask_elsewhere(tmp_path, workers=0) as alone,
        pytest.raises(ClusterLost, match="no Dask worker for 1 s; what is done is kept"),
    ):
        toy.run_on(alone.address, tmp_path / "out", [12])
