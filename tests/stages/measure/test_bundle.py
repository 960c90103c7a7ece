"""Problems out, figures back; rehearsed on this machine's CPU with the code that a GPU machine runs."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import KernelsetError, UsageError
from pipeline.paths import DATA
from pipeline.source.canonical import digest
from stages.measure import bundle, journal
from stages.measure.known import KnownBaselines
from stages.measure.settings import Precision
from tests.stages.measure import programs

CODES = {
    "good": programs.GOOD,
    "raises": programs.RAISES,
    "dies": programs.DIES,
    "other": programs.OTHER,
}


def exported(folder: Path) -> Path:
    problems = [bundle.Program(name, "s0", code, 0) for name, code in CODES.items()]
    bundle.export(problems, folder, [Precision()], ["eager"], {"runs": 3})
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(folder / "run.py"), "--device", "cpu", "--workers", "2"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=200
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that was measured in two goes, the second after a torn write."""
    folder = exported(tmp_path_factory.mktemp("bundle") / "b")
    first = run(folder, "--limit", "2")
    assert first.returncode == 0, first.stderr
    with (folder / "results" / "results-00.jsonl").open("a") as file:
        file.write('{"chain": "torn of')
    second = run(folder)
    assert second.returncode == 0, second.stderr
    return folder


@pytest.fixture
def copied(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "b"))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [line for line in journal.read(folder / "results", "results") if line["kind"] == "job"]


def test_a_bundle_needs_nothing_of_this_project(tmp_path: Path) -> None:
    folder = exported(tmp_path / "b")
    texts = [path.read_text() for path in folder.rglob("*.py")]
    for word in ("pipeline", "schemas", "stages", "pydantic", "pyarrow"):
        assert not any(f"import {word}" in text or f"from {word}" in text for text in texts)


def test_every_job_has_one_record_a_mode_whatever_became_of_it(measured: Path) -> None:
    statuses = [record["status"] for line in lines_of(measured) for record in line["records"]]
    assert Counter(statuses)["crash"] == 1
    assert Counter(statuses)["error"] == 1
    assert len(statuses) == len(CODES)


def test_a_run_that_was_cut_off_goes_on_where_it_was(measured: Path) -> None:
    jobs = [line["job"] for line in lines_of(measured)]
    assert sorted(jobs) == sorted(set(jobs))
    assert len(jobs) == len(CODES)


def test_a_run_that_goes_on_keeps_to_the_order_of_dtypes(tmp_path: Path) -> None:
    problems = [bundle.Program(n, "s0", CODES[n], 0) for n in ("good", "other")]
    dtypes = [Precision(), Precision(dtype="bfloat16")]
    bundle.export(problems, tmp_path / "b", dtypes, ["eager"], {"runs": 3})
    run(tmp_path / "b", "--workers", "1", "--limit", "1")
    run(tmp_path / "b", "--workers", "1")
    order = [line["job"].rpartition("-")[2] for line in lines_of(tmp_path / "b")]
    assert order == ["float32", "float32", "bfloat16", "bfloat16"]


def test_canaries_stand_around_the_readings(measured: Path) -> None:
    kinds = [line["kind"] for line in journal.read(measured / "results", "results")]
    first_job = kinds.index("job")
    last_job = len(kinds) - 1 - kinds[::-1].index("job")
    assert "canary" in kinds[:first_job]
    assert "canary" in kinds[last_job:]


def test_merged_figures_are_found_by_what_was_executed(measured: Path, tmp_path: Path) -> None:
    into = tmp_path / "figures.parquet"
    rows = bundle.merge(measured, measured / "results", into, DATA)
    assert rows.num_rows == len(CODES)
    found = KnownBaselines([rows]).of("good", programs.GOOD, "my name of it")
    assert [row["status"] for row in found] in (["ok"], ["noisy"])
    assert found[0]["shape_id"] == "my name of it"
    assert len(found[0]["raw_ms"]) == 3
    assert KnownBaselines([rows]).of("good", programs.OTHER, "s0") == []
    assert rows["program_sha256"].to_pylist().count(digest(programs.GOOD)) == 1


def test_what_a_file_of_figures_has_need_not_be_measured_again(
    measured: Path, tmp_path: Path
) -> None:
    into = tmp_path / "figures.parquet"
    bundle.merge(measured, measured / "results", into, DATA)
    both = [bundle.Program(name, "s0", CODES[name], 0) for name in ("good", "dies")]
    new = bundle.Program("new", "s0", programs.GOOD + "\n# new", 0)
    precisions = [Precision(), Precision(dtype="bfloat16")]
    modes, known = ["eager"], bundle.settled(into)
    bundle.export([*both, new], tmp_path / "b", precisions, modes, {}, known)
    jobs = json.loads((tmp_path / "b" / "manifest.json").read_text())["jobs"]
    assert [(job["problem_id"], job["dtype"]) for job in jobs] == [
        ("dies", "float32"),  # a crash may be the machine's
        ("new", "float32"),
        ("good", "bfloat16"),
        ("dies", "bfloat16"),
        ("new", "bfloat16"),
    ]


def test_merging_twice_changes_nothing(measured: Path, tmp_path: Path) -> None:
    into = tmp_path / "figures.parquet"
    bundle.merge(measured, measured / "results", into, DATA)
    once = into.read_bytes()
    bundle.merge(measured, measured / "results", into, DATA)
    assert into.read_bytes() == once


def test_results_that_were_changed_are_refused(copied: Path, tmp_path: Path) -> None:
    path = copied / "results" / "results-00.jsonl"
    path.write_text(path.read_text().replace('"inner_calls": ', '"inner_calls": 1', 1))
    with pytest.raises(KernelsetError, match="changed after it was written"):
        bundle.merge(copied, copied / "results", tmp_path / "f.parquet", DATA)


def test_results_of_another_protocol_or_of_other_code_are_refused(
    copied: Path, tmp_path: Path
) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text())
    for change, words in (
        ({"protocol": "0"}, "protocol"),
        ({"code_digest": "x"}, "other measuring"),
    ):
        path.write_text(json.dumps(manifest | change))
        with pytest.raises(KernelsetError, match=words):
            bundle.merge(copied, copied / "results", tmp_path / "f.parquet", DATA)


def test_measuring_code_that_was_changed_on_the_way_is_refused(
    copied: Path, tmp_path: Path
) -> None:
    with (copied / "kernelset_measure" / "protocol.py").open("a") as file:
        file.write("# faster\n")
    with pytest.raises(KernelsetError, match=r"protocol\.py was changed"):
        bundle.merge(copied, copied / "results", tmp_path / "f.parquet", DATA)


def test_results_of_another_bundle_are_refused(copied: Path, tmp_path: Path) -> None:
    other = exported(tmp_path / "other" / "b")
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["rules"] = {"runs": 4}
    (other / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(KernelsetError, match="does not hold results of"):
        bundle.merge(other, copied / "results", tmp_path / "f.parquet", DATA)


def test_a_bundle_is_a_new_folder(tmp_path: Path) -> None:
    exported(tmp_path / "b")
    with pytest.raises(UsageError, match="there already"):
        exported(tmp_path / "b")
