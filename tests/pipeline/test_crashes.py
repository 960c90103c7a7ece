"""Fourth law: half-written is not written. Ended anywhere, the next run ends in the same bytes."""

import contextlib
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline import blows, toy

NUMBERS = blows.NUMBERS


@pytest.fixture(scope="module")
def whole() -> Iterator[blows.Undisturbed]:
    with quick_folder() as root:
        yield blows.undisturbed(root)


@pytest.fixture
def out() -> Iterator[Path]:
    with quick_folder() as root:
        yield root / "out"


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of fsyncs on a disk take minutes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as root:
        yield Path(root)


@pytest.mark.parametrize("blow", blows.BLOWS, ids=lambda blow: blow.kind)
def test_after_any_blow_the_next_run_ends_in_the_same_bytes(blow, whole, out) -> None:
    assert whole.places >= blows.AT_PLACES
    for number in blow.numbers_in_tests():
        blows.deal(blow, number, out, whole)
        shutil.rmtree(out)


@pytest.mark.skipif(not blows.can_mount(), reason="no file system may be mounted here")
@pytest.mark.parametrize("blow", blows.ON_A_DISK, ids=lambda blow: blow.kind)
def test_after_trouble_with_a_real_disk_too(blow, whole, out) -> None:
    for number in blow.numbers_in_tests():
        with blows.disk(out, 4096):
            shutil.copytree(whole.root, out, symlinks=True, dirs_exist_ok=True)
            blows.deal(blow, number, out, whole)


@pytest.mark.parametrize("blow", blows.ON_DASK, ids=lambda blow: blow.kind)
def test_after_the_death_of_a_part_of_a_cluster_too(blow, whole, out, monkeypatch) -> None:
    monkeypatch.setenv("BLOWS_SLOW_S", "0.02")  # what the workers are started with
    for number in blow.numbers_in_tests():
        blows.deal(blow, number, out, whole)


def test_killed_again_and_again_a_run_still_gets_there(whole, out) -> None:
    dice, deaths = random.Random(1), 0
    shutil.copytree(whole.root, out, symlinks=True)
    while blows.killed_at(out, dice.randrange(8, 30)):
        deaths += 1
        assert deaths < 60
    assert deaths > 3
    assert toy.bytes_of(out) == whole.tables
    assert blows.content(out) == whole.released
