"""The report page as text: what it says, of whole releases and of damaged ones."""

import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.files import write_table
from pipeline.report.page import report_page
from pipeline.report.reading import read_release
from schemas.benchmark import BENCHMARK
from tests.conftest import Finished, kernelset
from tests.pipeline.report.releases import (
    HOSTILE,
    SAMPLE,
    SHARD,
    copy_of_the_sample,
    with_rows,
    with_text,
    without_gpu,
)


@pytest.fixture(scope="module")
def sample_page() -> str:
    return report_page(read_release(SAMPLE))


def test_the_page_needs_nothing_from_outside(sample_page: str) -> None:
    assert "default-src 'none'" in sample_page
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", sample_page)
    assert "@import" not in sample_page and "url(" not in sample_page


def test_equal_releases_give_equal_bytes(sample_page: str, tmp_path: Path) -> None:
    assert report_page(read_release(copy_of_the_sample(tmp_path))) == sample_page


def test_another_process_with_another_hash_seed_gives_the_same_bytes(
    sample_page: str, tmp_path: Path
) -> None:
    done = kernelset("report", SAMPLE, "--out", tmp_path / "page.html", PYTHONHASHSEED="7")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == sample_page


def test_the_command_gives_the_bytes_that_emit_wrote(tiny: Finished, tmp_path: Path) -> None:
    done = kernelset("report", tiny.release, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").read_bytes() == (tiny.release / "report.html").read_bytes()


def test_a_release_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    done = kernelset("report", "no-such-release", "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert "no such release" in done.stderr and "Traceback" not in done.stderr


def test_the_thresholds_and_the_nearest_miss_are_told(sample_page: str) -> None:
    assert "threshold 0.32" in sample_page and "threshold 0.8" in sample_page
    nearest = min(pq.read_table(SAMPLE / "data" / SHARD).to_pylist(), key=lambda row: row["l2"])
    assert nearest["class_name"] in sample_page and nearest["l2_problem"] in sample_page


def test_crawled_text_is_never_markup(tmp_path: Path) -> None:
    release = copy_of_the_sample(tmp_path)
    for column in ("code", "class_name", "path", "origin", "licence", "level", "l2_problem"):
        with_rows(release, lambda table, column=column: with_text(table, column, HOSTILE))
    page = report_page(read_release(release))
    assert "<img" not in page and "&lt;img" in page
    assert page.count("</script>") == page.count("<script")


def no_manifest(release: Path) -> None:
    (release / "manifest.json").unlink()


def broken_manifest(release: Path) -> None:
    (release / "manifest.json").write_text("{")


def no_ledger(release: Path) -> None:
    shutil.rmtree(release / "ledger")


def a_missing_shard(release: Path) -> None:
    shard = release / "data" / SHARD
    shard.rename(shard.with_name("train-00000-of-00002.parquet"))


def a_damaged_shard(release: Path) -> None:
    (release / "data" / SHARD).write_bytes(b"PAR1 and then nothing")


def no_shard(release: Path) -> None:
    (release / "data" / SHARD).unlink()


def an_older_schema(release: Path) -> None:
    with_rows(release, lambda table: table.drop_columns(["shapes", "near_miss", "flags", "level"]))


def a_ledger_of_an_older_schema(release: Path) -> None:
    file = release / "ledger" / "removed.parquet"
    table = pq.read_table(file).drop_columns(["metric", "threshold"])
    file.unlink()
    write_table(table, file)


def shards_of_two_kinds(release: Path) -> None:
    table = pq.read_table(release / "data" / SHARD)
    place = table.schema.get_field_index("shapes")
    other = table.set_column(place, "shapes", pa.array(["none"] * table.num_rows))
    pq.write_table(other, release / "data" / "validation-00000-of-00001.parquet")


DAMAGES = {
    no_manifest: "manifest.json is missing",
    broken_manifest: "manifest.json can&#39;t be read",
    no_ledger: "ledger/removed.parquet is missing",
    a_missing_shard: "train-00001-of-00002.parquet is missing",
    a_damaged_shard: "can&#39;t be read",
    no_shard: "There is no shard in data/",
    an_older_schema: "level, flags, shapes",
    a_ledger_of_an_older_schema: "metric, threshold",
    shards_of_two_kinds: "rows are left out",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_release_opens_and_says_what_is_missing(damage, tmp_path: Path) -> None:
    release = copy_of_the_sample(tmp_path)
    damage(release)
    page = report_page(read_release(release))
    found = re.search(r'<aside class="missing".*?</aside>', page, re.S)
    assert found is not None
    told = found[0]
    for word in DAMAGES[damage].split(", "):
        assert word in told


@pytest.mark.parametrize("rows", [0, 1])
def test_a_release_of_few_rows_opens(rows: int, tmp_path: Path) -> None:
    release = with_rows(copy_of_the_sample(tmp_path), lambda table: table.slice(0, rows))
    page = report_page(read_release(release))
    assert ("1 verified problem<" if rows else "0 verified problems") in page


def test_a_release_without_times_says_so(tmp_path: Path) -> None:
    def untimed(table):
        return table.drop_columns(["baselines"])

    page = report_page(read_release(with_rows(copy_of_the_sample(tmp_path), untimed)))
    assert "No row carries a measured time." in page
    assert "No shape has both an eager and a TorchInductor time" in page


def test_a_release_without_gpu_baselines_says_so(tmp_path: Path) -> None:
    release = with_rows(copy_of_the_sample(tmp_path), without_gpu)
    assert "There is no GPU baseline in this release." in report_page(read_release(release))


def test_of_the_benchmark_only_names_are_shown(sample_page: str) -> None:
    assert "kernelbench/" in sample_page
    assert "code" not in BENCHMARK.names  # a release could not hold it if it wanted
