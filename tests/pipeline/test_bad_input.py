"""What is damaged, edited by hand or unfit is found, mended or refused with one line."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pipeline import release
from pipeline.diff import compare
from pipeline.errors import StoreBusy, StoreError
from pipeline.files import file_digest_tree, read_json
from pipeline.paths import ROOT
from pipeline.progress import Watch
from pipeline.release import releases
from pipeline.run import Plan, run_stages
from pipeline.store import Store
from tests.pipeline import toy
from tests.pipeline.test_crashes import quick_folder

NUMBERS = list(range(98, 110))


class Heard(Watch):
    """Keeps what a person would read."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self.lines: list[str] = []

    def tell(self, text: str) -> None:
        self.lines.append(text)


def publish(out: Path, numbers=NUMBERS, accept: str = "") -> tuple[Path, list[str]]:
    """A whole run; gives the release and what was told."""
    store, heard = Store(out), Heard()
    plan = Plan(toy.STAGES, toy.recipe(numbers), store, out, heard, workers=0)
    with store.lock():
        store.prepare()
        folder, _ = release.publish(plan, run_stages(plan), accept)
    return folder, [line for line in heard.lines if str(out) in line]


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    with quick_folder() as folder:
        publish(folder / "out")
        yield folder / "out"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "out", symlinks=True)


def flip_a_bit(path: Path, place: float = 0.3) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.95])
def test_one_flipped_bit_in_a_memory_is_found_and_its_rows_are_done_again(out, place) -> None:
    before = toy.bytes_of(out)
    part = sorted((out / "store" / "square").glob("memo-*/part-*.parquet"))[0]
    flip_a_bit(part, place)
    shutil.rmtree(out / "store" / "square" / "result")
    _, told = publish(out)
    assert told == [f"{part}: damaged; its rows are done again"]
    assert toy.bytes_of(out) == before


def test_a_memory_of_an_earlier_kernelset_without_digests_is_still_good(out: Path) -> None:
    before, worked = toy.bytes_of(out), toy.worked_on(Store(out))
    for part in out.glob("store/square/memo-*/part-*.parquet"):
        part.rename(part.with_name(part.name[: len("part-") + 24] + ".parquet"))
    shutil.rmtree(out / "store" / "square" / "result")
    publish(out)
    assert toy.bytes_of(out) == before
    assert toy.worked_on(Store(out)) == worked


def edit(path: Path, change: Callable[[dict], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest["rows"].update(failed=0, kept=1),
        lambda manifest: manifest["address"].update(version=1, note="mine"),
        lambda manifest: manifest["files"].clear(),
        lambda manifest: manifest.clear(),
    ],
)
def test_a_stages_manifest_edited_by_hand_is_not_believed(out: Path, change) -> None:
    before, worked = toy.bytes_of(out), toy.worked_on(Store(out))
    path = out / "store" / "square" / "result" / "manifest.json"
    told = read_json(path)
    edit(path, change)
    assert Store(out).result("square") is None
    publish(out)
    assert read_json(path) == told
    assert toy.bytes_of(out) == before
    assert toy.worked_on(Store(out)) == worked


def test_a_damaged_result_is_made_again_from_memory(out: Path) -> None:
    before, worked = toy.bytes_of(out), toy.worked_on(Store(out))
    flip_a_bit(out / "store" / "square" / "result" / "kept.parquet")
    publish(out)
    assert toy.bytes_of(out) == before
    assert toy.worked_on(Store(out)) == worked


def damage_shard(folder: Path) -> None:
    shard = folder / "data" / "train-00000-of-00001.parquet"
    shard.write_bytes(shard.read_bytes()[:-30])


def edit_manifest(folder: Path) -> None:
    edit(folder / "manifest.json", lambda manifest: manifest.update(accepted="by me"))


def lose_a_file(folder: Path) -> None:
    (folder / "README.md").unlink()


def write_nonsense(folder: Path) -> None:
    (folder / "manifest.json").write_text("[]")


DAMAGES = pytest.mark.parametrize(
    "damage", [damage_shard, edit_manifest, lose_a_file, write_nonsense]
)


@DAMAGES
def test_a_damaged_release_is_published_again_beside_it(out: Path, damage) -> None:
    [first] = releases(out)
    good = file_digest_tree(first)
    damage(first)
    bad = file_digest_tree(first)
    second, [told] = publish(out)
    assert second != first and (out / "latest").resolve() == second
    assert file_digest_tree(second) == good
    assert file_digest_tree(first) == bad, "an earlier release is never touched"
    assert str(first) in told and told.endswith("it is published again")


@DAMAGES
def test_what_is_new_is_not_compared_with_a_damaged_release(out: Path, damage) -> None:
    [first] = releases(out)
    damage(first)
    with pytest.raises(StoreError, match="publish anyway with --accept 'reason'") as refused:
        publish(out, [*NUMBERS, 300])
    assert str(first) in str(refused.value) and "\n" not in str(refused.value)
    assert (out / "latest").resolve() == first
    second, _ = publish(out, [*NUMBERS, 300], accept="the disk was bad")
    assert (out / "latest").resolve() == second


@pytest.mark.parametrize("damage", [damage_shard, edit_manifest])
def test_a_damaged_release_is_not_compared(out: Path, damage) -> None:
    [first] = releases(out)
    damage(first)
    with pytest.raises(StoreError, match="changed"):
        compare(first, first)


@pytest.mark.parametrize("layout", ['{"layout": 99}', "[]", "{}"])
def test_a_store_of_another_version_is_refused(out: Path, layout: str) -> None:
    (out / "layout.json").write_text(layout)
    before = file_digest_tree(out)
    with pytest.raises(StoreError, match="made by another kernelset"):
        publish(out)
    assert file_digest_tree(out) == before


def test_a_second_run_is_refused_until_the_first_is_dead(out: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from pipeline.store import Store\n"
        f"with Store(Path({str(out)!r})).lock('first'):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None and first.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusy, match=rf"in use by process {first.pid} on .*, for 0 minutes"):
            publish(out)
        first.send_signal(signal.SIGKILL)
    publish(out)  # its lock died with it


def refusing(code: int) -> Callable[..., None]:
    def call(*arguments: object, **named: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


def test_neither_hard_links_nor_fsync_are_needed(out: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "link", refusing(errno.EPERM))
    monkeypatch.setattr(os, "fsync", refusing(errno.EINVAL))
    there, _ = publish(tmp_path / "there")
    assert toy.bytes_of(tmp_path / "there") == toy.bytes_of(out)
    assert file_digest_tree(there) == file_digest_tree((out / "latest").resolve())


def test_an_fsync_that_fails_is_not_taken_for_one_that_is_missing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", refusing(errno.EIO))
    with pytest.raises(StoreError, match="the disk fails"):
        publish(tmp_path / "there")


def test_a_file_system_without_symbolic_links_is_refused_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", refusing(errno.EPERM))
    with pytest.raises(StoreError, match=r"no symbolic links.*use an --out on another"):
        publish(tmp_path / "there")
    assert not (tmp_path / "there" / "store").exists()


def test_a_full_disk_in_a_stages_own_sqlite_is_one_line(tmp_path: Path) -> None:
    import sqlite3

    def full(*arguments: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    stages = [replace(s, work=full) if s.name == "square" else s for s in toy.STAGES]
    store = Store(tmp_path)
    store.prepare()
    with pytest.raises(StoreError, match="no space left on the disk"):
        run_stages(Plan(stages, toy.recipe([12]), store, tmp_path, Heard(), workers=0))
