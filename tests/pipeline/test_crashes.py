"""Fourth law: half-written is not written. Killed anywhere, the next run ends in the same bytes."""

import contextlib
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import files
from pipeline.files import file_digest_tree
from tests.pipeline import toy

NUMBERS = list(range(90, 130))
KILLS = 64


def syscalls_of_a_run(root: Path) -> int:
    """How many fsyncs and renames a whole run makes: each is a place to die at."""
    counter = root / "count"

    def child() -> None:
        calls = _count_calls(lambda number: None)
        toy.run_and_publish(root / "out", NUMBERS)
        counter.write_text(str(calls[0]))

    assert _in_child(child) == 0
    return int(counter.read_text())


def _count_calls(at_call: Callable[[int], None]) -> list[int]:
    """Calls `at_call(n)` before the n-th fsync or rename of this process."""
    calls = [0]
    fsync, replace, rename = files._fsync, Path.replace, Path.rename

    def counted(honest: Callable) -> Callable:
        def call(*arguments):
            calls[0] += 1
            at_call(calls[0])
            return honest(*arguments)

        return call

    files._fsync = counted(fsync)
    Path.replace, Path.rename = counted(replace), counted(rename)  # type: ignore[method-assign]
    return calls


def _in_child(work: Callable[[], None]) -> int:
    """Runs `work` in a forked child; its exit status, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _die_at(place: int) -> None:
    _count_calls(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == place else None)


@pytest.fixture(scope="module")
def whole() -> Iterator[tuple[Path, int]]:
    with _quick_folder() as root:
        yield root, syscalls_of_a_run(root)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with _quick_folder() as root:
        yield root


@contextlib.contextmanager
def _quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of fsyncs on a disk take minutes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as root:
        yield Path(root)


def _release(root: Path) -> dict[str, str]:
    """The content of the newest release."""
    return file_digest_tree((root / "latest").resolve())


def test_killed_at_any_fsync_or_rename_the_next_run_ends_in_the_same_bytes(whole, tmp_path) -> None:
    root, places = whole
    assert places >= KILLS
    for place in sorted(random.Random(0).sample(range(1, places + 1), KILLS)):
        out = tmp_path / "out"

        def child(out: Path = out, place: int = place) -> None:
            _die_at(place)
            toy.run_and_publish(out, NUMBERS)

        assert _in_child(child) == -signal.SIGKILL
        toy.run_and_publish(out, NUMBERS)
        assert toy.bytes_of(out) == toy.bytes_of(root / "out"), f"killed at {place}"
        assert _release(out) == _release(root / "out")
        assert not list(out.rglob(".partial-*"))
        shutil.rmtree(out)


def test_killed_again_and_again_a_run_still_gets_there(whole, tmp_path) -> None:
    root, _ = whole
    out, dice, deaths = tmp_path / "out", random.Random(1), 0

    def child() -> None:
        _die_at(dice.randrange(8, 40))
        toy.run_and_publish(out, NUMBERS)

    while _in_child(child) != 0:
        dice.random()  # the child's copy of the dice does not move ours
        deaths += 1
        assert deaths < 60
    assert deaths > 3
    assert toy.bytes_of(out) == toy.bytes_of(root / "out")
    assert _release(out) == _release(root / "out")


def test_an_earlier_release_is_never_touched(tmp_path) -> None:
    out = tmp_path / "out"
    first = toy.run_and_publish(out, NUMBERS)
    before = file_digest_tree(first)

    def child() -> None:
        _die_at(60)
        toy.run_and_publish(out, [*NUMBERS, 500, 501])

    assert _in_child(child) == -signal.SIGKILL
    assert (out / "latest").resolve() == first
    second = toy.run_and_publish(out, [*NUMBERS, 500, 501])
    assert second != first
    assert file_digest_tree(first) == before
    assert (out / "latest").resolve() == second
