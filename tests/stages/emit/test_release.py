"""What emit writes beside the shards: a card that the hub reads, a report, licences."""

import shutil
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa
import pytest
import yaml

from pipeline.files import write_json, write_table
from pipeline.paths import DATA
from pipeline.report.page import report_page
from pipeline.report.reading import read_release
from pipeline.stage import History, Workplace
from schemas.baseline import BASELINE_FIELDS
from schemas.ledger import REMOVED
from schemas.problem import RELEASED
from stages.emit import STAGE, EmitSettings, publish
from tests.pipeline.report.releases import without_gpu

SAMPLE = DATA / "sample"


@pytest.fixture
def sample() -> tuple[pa.Table, History]:
    release = read_release(SAMPLE)
    table = release.rows.cast(RELEASED)
    assert release.recipe is not None
    return table, History(release.stages, release.removed, release.failed, release.recipe)


def published(table: pa.Table, history: History, folder: Path) -> Path:
    """A release as the engine publishes it, manifest last."""
    shared = folder / "shared"
    shutil.copytree(SAMPLE / "licences", shared / "licences", dirs_exist_ok=True)
    workplace = Workplace(cache=folder / "cache", shared=shared, data=DATA)
    release = folder / "release"
    publish(table, history, EmitSettings(), workplace, release)
    write_table(history.removed, release / "ledger" / "removed.parquet")
    write_table(history.failed, release / "ledger" / "failed.parquet")
    write_json({"stages": history.stages, "recipe": history.recipe}, release / "manifest.json")
    return release


def card(release: Path) -> str:
    return (release / "README.md").read_text(encoding="utf-8")


def header(release: Path) -> dict:
    return yaml.safe_load(card(release).split("---\n")[1])


def half_validation(table: pa.Table) -> pa.Table:
    splits = ["validation" if i % 2 else "train" for i in range(table.num_rows)]
    place = table.schema.get_field_index("split")
    return table.set_column(place, RELEASED.field("split"), pa.array(splits))


def test_the_report_that_emit_writes_is_the_one_of_the_command(sample, tmp_path: Path) -> None:
    table, history = sample
    release = published(half_validation(table), history, tmp_path)
    assert (release / "report.html").read_text() == report_page(read_release(release))


def test_the_header_is_what_the_hub_expects(sample, tmp_path: Path) -> None:
    found = header(published(*sample, tmp_path))
    assert found["license"] == ["apache-2.0"]
    assert found["size_categories"] == ["n<1K"]
    assert found["task_categories"] == ["text-generation"]
    assert found["configs"][0]["data_files"] == [{"split": "train", "path": "data/train-*.parquet"}]


def test_a_licence_that_the_hub_does_not_name_makes_it_other(sample, tmp_path: Path) -> None:
    table, history = sample
    place = table.schema.get_field_index("licence")
    texts = pa.array(["PSF-2.0"] * table.num_rows)
    table = table.set_column(place, RELEASED.field("licence"), texts)
    assert header(published(table, history, tmp_path))["license"] == "other"


def test_the_hubs_own_library_loads_the_folder_by_its_card(sample, tmp_path: Path) -> None:
    table, history = sample
    release = published(half_validation(table), history, tmp_path)
    loaded = datasets.load_dataset(str(release), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in loaded.items()} == {
        "train": -(-table.num_rows // 2),
        "validation": table.num_rows // 2,
    }


def test_every_column_of_the_schemas_stands_in_the_card_with_its_meaning(
    sample, tmp_path: Path
) -> None:
    text = card(published(*sample, tmp_path))
    for schema in (RELEASED, REMOVED):
        for field in schema:
            meaning = field.metadata[b"meaning"].decode().replace("|", "\\|")
            line = next(x for x in text.splitlines() if x.startswith(f"| `{field.name}` |"))
            assert meaning in text and line.count(" | ") >= 3
    for name in BASELINE_FIELDS:
        assert f"| `{name}` |" in text


def test_the_threshold_that_decided_stands_in_the_card(sample, tmp_path: Path) -> None:
    text = card(published(*sample, tmp_path))
    assert "| removed below this L2 distance | 0.32 |" in text
    assert "| removed above this token-set Jaccard | 0.8 |" in text
    assert "None" not in text.split("## Decontamination")[1].split("## Difficulty")[0]


def test_limits_are_those_of_this_release(sample, tmp_path: Path) -> None:
    table, history = sample
    limits = (
        card(published(without_gpu(table), history, tmp_path))
        .split("## Limits")[1]
        .split("## Columns")[0]
    )
    assert "no GPU baseline" in limits
    assert "rules over traced facts" in limits
    assert "no validation split" in limits


def test_the_first_release_says_so(sample, tmp_path: Path) -> None:
    assert "first release of its store" in card(published(*sample, tmp_path))


def test_the_card_tells_what_changed_and_why(sample, tmp_path: Path) -> None:
    table, history = sample
    before = published(table.slice(0, 100), history, tmp_path / "before")
    ledger = history.removed.to_pylist()
    ledger[0]["row_id"] = table["problem_id"][0].as_py()
    removed = pa.Table.from_pylist(ledger, REMOVED)
    later = replace(history, previous=before, removed=removed)
    text = card(published(table.slice(2), later, tmp_path / "after"))
    assert (
        f"had 100 rows. {table.num_rows - 100} were added, 2 are gone, 0 have another level" in text
    )
    assert f"gone: 1 × removed by {ledger[0]['stage']}: {ledger[0]['reason']}" in text
    assert "gone: 1 × no longer among its source's problems" in text


def test_equal_input_gives_equal_bytes(sample, tmp_path: Path) -> None:
    one, other = (published(*sample, tmp_path / name) for name in ("one", "other"))
    for name in ("README.md", "report.html"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_the_stage_that_publishes_is_the_last() -> None:
    assert STAGE.publish is publish
