"""Every way in which a run is ended from outside, and what must hold after the next one.

    python -m tests.pipeline.blows        deals all of them and prints the table of docs/engine.md

A blow is dealt to a run that already has a release and new rows to do; a stage of it pays for each
answer. The next run must end in the bytes of a run that nobody disturbed; the release before is as it
was, nothing half-written is left, no remembered row is worked on again and no kept answer is paid twice.
"""

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from pipeline import files, release
from pipeline.errors import ClusterLost, StoreError
from pipeline.files import file_digest_tree, read_table
from pipeline.identity import row_key
from pipeline.llm.prices import Usage
from pipeline.llm.store import open_store
from pipeline.paths import ROOT
from pipeline.progress import Watch
from pipeline.run import Plan, run_stages
from pipeline.stage import Outcome, Row, Stage, Workplace
from pipeline.store import Store
from tests.pipeline import toy
from tests.pipeline.elsewhere import dask_elsewhere, when_workers_work

FIRST = list(range(98, 101))
NUMBERS = list(range(98, 110))
PAID = "paid.log"
SLOW_S = float(os.environ.get("BLOWS_SLOW_S", "0"))  # of a row: time to strike at it


def square_for_money(
    rows: Sequence[Row], settings: toy.SquareSettings, work: Workplace
) -> list[list[Outcome]]:
    """Squares, but first buys an answer for each row, as a judge does."""
    with open_store(work.cache) as answers:
        for row in rows:
            if answers.reply(row["problem_id"]) is None:
                with (work.cache / PAID).open("a") as till:
                    till.write(row["problem_id"] + "\n")
                answers.remember(row["problem_id"], "L2", "m", "m", Usage(1, 1))
                answers.spend("m", Usage(1, 1), 0.01)
        time.sleep(SLOW_S * len(rows))
    return toy.square(rows, settings, work)


STAGES: tuple[Stage, ...] = tuple(
    replace(stage, work=square_for_money) if stage.name == "square" else stage
    for stage in toy.STAGES
)


def run(out: Path, numbers: Sequence[int] = NUMBERS, scheduler: str | None = None) -> Path:
    """A whole run with its release."""
    where = Store(out)
    watch = Watch(Console(quiet=True))
    workers = None if scheduler else 0
    plan = Plan(STAGES, toy.recipe(numbers), where, out, watch, workers, scheduler)
    with where.lock():
        where.prepare()
        return release.publish(plan, run_stages(plan))[0]


@dataclass(frozen=True)
class Undisturbed:
    """What every disturbed run is compared with."""

    root: Path  # a store with the first release alone: copied for each blow
    tables: dict[str, bytes]
    released: dict[str, str]
    places: int  # fsyncs and renames of the run that makes the second release
    seconds: float  # that it takes

    @property
    def first(self) -> Path:
        return (self.root / "latest").resolve()


@dataclass(frozen=True)
class Blow:
    """A kind of trouble."""

    kind: str
    times: int
    deal: Callable[[Path, int, Undisturbed], None]  # ends a run in `out`; the number is the seed
    again: Callable[[Path], object] = run  # the next run
    in_tests: int = 1_000_000  # at most so many of them in a test; the table has all

    def numbers_in_tests(self) -> list[int]:
        """A few of the numbers, spread over all."""
        few = min(self.times, self.in_tests)
        return [number * self.times // few for number in range(few)]


def undisturbed(root: Path) -> Undisturbed:
    """Makes it in an empty folder."""
    run(root / "out", FIRST)
    shutil.copytree(root / "out", root / "second", symlinks=True)
    places = root / "places"

    def count() -> None:
        calls = at_each_place(lambda number: None)
        run(root / "second")
        places.write_text(str(calls[0]))

    began = time.monotonic()
    assert in_child(count) == 0
    seconds, second = time.monotonic() - began, root / "second"
    return Undisturbed(
        root / "out", toy.bytes_of(second), content(second), int(places.read_text()), seconds
    )


def deal(blow: Blow, number: int, out: Path, whole: Undisturbed) -> None:
    """Deals one blow and holds the next run to all that must be true."""
    if not out.exists():
        shutil.copytree(whole.root, out, symlinks=True)
    before = file_digest_tree(out / "releases" / whole.first.name)
    blow.deal(out, number, whole)
    kept, answers = remembered(out), answered(out)
    worked, paid = Counter(toy.worked_on(Store(out))), bought(out)
    blow.again(out)
    told = f"{blow.kind}, number {number}"
    assert toy.bytes_of(out) == whole.tables, told
    assert content(out) == whole.released, told
    assert file_digest_tree(out / "releases" / whole.first.name) == before, told
    assert release.releases(out)[-1] == (out / "latest").resolve(), told
    assert not list(out.rglob(f"{files.PARTIAL}*")), told
    assert not kept & set(Counter(toy.worked_on(Store(out))) - worked), f"{told}: done again"
    assert not answers & set(bought(out) - paid), f"{told}: paid again"


def content(out: Path) -> dict[str, str]:
    """The files of the newest release."""
    return file_digest_tree((out / "latest").resolve())


def remembered(out: Path) -> set[str]:
    """The rows that stage `square` has in its memo."""
    rows: set[str] = set()
    by_key = {row_key({"problem_id": p, "part": d}, ("problem_id", "part")): p for p, d in _units()}
    for part in out.glob("store/square/memo-*/part-*.parquet"):
        rows |= {by_key[key] for key in read_table(part, ["key"])["key"].to_pylist()}
    return rows


def _units() -> Iterator[tuple[str, int]]:
    for number in {*FIRST, *NUMBERS}:
        for place, digit in enumerate(str(number)):
            yield f"f{number:05d}-{place}", int(digit)


def answered(out: Path) -> set[str]:
    """The rows whose answer is kept."""
    with open_store(Store(out).cache("square")) as store:
        return {problem for problem, _ in _units() if store.reply(problem) is not None}


def bought(out: Path) -> Counter[str]:
    """How often an answer was paid for, by row."""
    till = Store(out).cache("square") / PAID
    return Counter(till.read_text().splitlines() if till.exists() else [])


def in_child(work: Callable[[], object]) -> int:
    """Runs `work` in a forked child; its exit status, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def at_each_place(call_before: Callable[[int], None]) -> list[int]:
    """From now on calls `call_before(n)` before the n-th fsync or rename of this process."""
    calls = [0]

    def counted(honest: Callable) -> Callable:
        def call(*arguments):
            calls[0] += 1
            call_before(calls[0])
            return honest(*arguments)

        return call

    files._fsync = counted(files._fsync)
    Path.replace, Path.rename = counted(Path.replace), counted(Path.rename)  # type: ignore[method-assign]
    return calls


def places(whole: Undisturbed, times: int) -> list[int]:
    """Where to strike: as many different places, spread over the whole run."""
    step = whole.places / times
    return [1 + int(step * number) for number in range(times)]


def killed_at(out: Path, place: int) -> bool:
    """Whether a run that dies at the n-th place comes as far as that."""

    def child() -> None:
        at_each_place(lambda now: os.kill(os.getpid(), signal.SIGKILL) if now == place else None)
        run(out)

    status = in_child(child)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def kill_at_a_place(out: Path, number: int, whole: Undisturbed) -> None:
    assert killed_at(out, places(whole, AT_PLACES)[number])


def kill_at_a_moment(out: Path, number: int, whole: Undisturbed) -> None:
    wait = whole.seconds * random.Random(number).random()
    while True:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                run(out)
            os._exit(0)
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        if os.waitpid(child, 0)[1] == signal.SIGKILL:
            return
        shutil.rmtree(out)  # it was done before: earlier, then
        shutil.copytree(whole.root, out, symlinks=True)
        wait /= 2


def kill_twice(out: Path, number: int, whole: Undisturbed) -> None:
    """The second time while the next run mends what the first left."""
    kill_at_a_place(out, number * AT_PLACES // 8, whole)
    assert killed_at(out, 2)


def refuse_at_a_place(trouble: int, line: str, times: int) -> Callable[..., None]:
    """The disk refuses one write, and the run ends with one line that says why."""

    def deal(out: Path, number: int, whole: Undisturbed) -> None:
        place = places(whole, times)[number]

        def refuse(now: int) -> None:
            if now == place:
                raise OSError(trouble, os.strerror(trouble))

        def child() -> None:
            at_each_place(refuse)
            with pytest.raises(StoreError, match=line):
                run(out)

        assert in_child(child) == 0

    return deal


@contextlib.contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """A real file system of its own size, in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            with disk(Path(folder) / "disk", 64):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def fill_the_disk(out: Path, number: int, whole: Undisturbed) -> None:
    """A disk with so much room beside the first release, until it is given more."""
    room = (8, 24, 48, 80, 120, 170)[number] * 1024  # bytes; a whole run takes some 200 k
    state = os.statvfs(out)
    with (out / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize - room)

    def child() -> None:
        with pytest.raises(StoreError, match="no space left on the disk"):
            run(out)

    assert in_child(child) == 0
    (out / "filler").unlink()


def make_it_read_only(out: Path, number: int, whole: Undisturbed) -> None:
    mount("-o", "remount,ro", str(out))
    try:
        with pytest.raises(StoreError, match=r"can't write here \(Read-only file system\)"):
            run(out)
    finally:
        mount("-o", "remount,rw", str(out))


def kill_at_a_quarter(out: Path, number: int, whole: Undisturbed) -> None:
    kill_at_a_place(out, (1 + number % 4) * AT_PLACES // 5, whole)


def run_in_the_past(out: Path) -> None:
    """The next run, with the clock a day behind that of the run before."""

    class Yesterday(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(zone) - timedelta(days=1)

    now = time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now() - 86_400)
        patch.setattr(release, "datetime", Yesterday)
        run(out)


def kill_workers(out: Path, number: int, whole: Undisturbed) -> None:
    """Two workers, one after the other, each while it works; the run itself must get there."""
    with dask_elsewhere(out.parent) as cluster:
        strike = when_workers_work(Store(out).cache("square"), _kill, times=2)
        with strike as struck:
            run(out, scheduler=cluster.address)
        assert len(struck) == 2


def kill_the_scheduler(out: Path, number: int, whole: Undisturbed) -> None:
    with dask_elsewhere(out.parent) as cluster:
        strike = when_workers_work(Store(out).cache("square"), lambda pid: cluster.kill_scheduler())
        with strike, pytest.raises(ClusterLost, match="the Dask scheduler"):
            run(out, scheduler=cluster.address)


def kill_the_run_alone(out: Path, number: int, whole: Undisturbed) -> None:
    """Its workers live on a little and finish what they have."""
    with dask_elsewhere(out.parent) as cluster:
        call = f"blows.run(Path({str(out)!r}), scheduler={cluster.address!r})"
        code = f"from pathlib import Path; from tests.pipeline import blows; {call}"
        with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as driver:
            strike = when_workers_work(Store(out).cache("square"), lambda pid: driver.kill())
            with strike:
                assert driver.wait(60) == -signal.SIGKILL
        time.sleep(0.5)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


AT_PLACES = 64
FULL, READ_ONLY = "no space left on the disk", r"can't write here \(Read-only file system\)"

BLOWS = (
    Blow("SIGKILL at an fsync or rename", AT_PLACES, kill_at_a_place, in_tests=44),
    Blow("SIGKILL at a random moment", 24, kill_at_a_moment, in_tests=6),
    Blow("SIGKILL, and again while the next run mends", 8, kill_twice, in_tests=2),
    Blow("the disk refuses a write as full", 24, refuse_at_a_place(errno.ENOSPC, FULL, 24), in_tests=6),
    Blow("the disk refuses a write as read-only", 24,
         refuse_at_a_place(errno.EROFS, READ_ONLY, 24), in_tests=3),
    Blow("SIGKILL, then the clock a day back", 8, kill_at_a_quarter, run_in_the_past, in_tests=3),
)  # fmt: skip
ON_A_DISK = (
    Blow("a tmpfs that is full", 6, fill_the_disk, in_tests=4),
    Blow("a tmpfs that is read-only", 1, make_it_read_only),
)
ON_DASK = (
    Blow("SIGKILL of a Dask worker at work", 3, kill_workers, in_tests=1),
    Blow("SIGKILL of the Dask scheduler", 3, kill_the_scheduler, in_tests=1),
    Blow(
        "SIGKILL of the run, its Dask workers live on a little", 3, kill_the_run_alone, in_tests=1
    ),
)


def main() -> None:
    """Deals every blow there is; a line a kind."""
    say = Console(width=160, highlight=False).print
    os.environ["BLOWS_SLOW_S"] = "0.02"  # what Dask workers are started with
    say("| what ended the run | times | next run: same bytes | seconds |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        whole = undisturbed(Path(folder))
        for blow in (*BLOWS, *(ON_A_DISK if can_mount() else ()), *ON_DASK):
            began = time.monotonic()
            for number in range(blow.times):
                with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
                    out = Path(place) / "out"
                    with disk(out, 4096) if blow in ON_A_DISK else contextlib.nullcontext():
                        if blow in ON_A_DISK:
                            shutil.copytree(whole.root, out, symlinks=True, dirs_exist_ok=True)
                        deal(blow, number, out, whole)
            seconds = time.monotonic() - began
            say(f"| {blow.kind} | {blow.times} | {blow.times} | {seconds:.0f} |")


if __name__ == "__main__":
    main()
