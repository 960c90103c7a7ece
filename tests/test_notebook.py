"""notebooks/inspect_shards.ipynb runs from top to bottom, on the sample and on damaged releases."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pyarrow.parquet as pq
import pytest
from nbclient import NotebookClient

from pipeline.paths import ROOT
from tests.pipeline.report.releases import SAMPLE, copy_of_the_sample, with_rows

NOTEBOOK = ROOT / "notebooks" / "inspect_shards.ipynb"
FIGURES = 6


def executed(release: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook after a run; raises the first error of a cell."""
    monkeypatch.setenv("RELEASE", str(release))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}
    ).execute()
    return notebook


def outputs(notebook: Any, kind: str) -> Iterator[str]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if kind in output.get("data", {}):
                yield output["data"][kind]


def test_it_opens_on_the_sample_and_draws_every_figure(monkeypatch) -> None:
    notebook = executed(SAMPLE, monkeypatch)
    assert len(list(outputs(notebook, "image/png"))) == FIGURES
    shown = "".join(outputs(notebook, "text/html"))
    assert "kernelbench/" in shown and "get_inputs" in shown
    rows = pq.read_table(SAMPLE / "data").num_rows
    assert f"{rows} rows" in "".join(outputs(notebook, "text/plain"))


def test_it_opens_on_a_release_without_rows(monkeypatch, tmp_path: Path) -> None:
    release = with_rows(copy_of_the_sample(tmp_path), lambda table: table.slice(0, 0))
    executed(release, monkeypatch)


def test_it_says_what_is_missing(monkeypatch, tmp_path: Path) -> None:
    release = copy_of_the_sample(tmp_path)
    with_rows(release, lambda table: table.drop_columns(["baselines", "shapes", "l2"]))
    (release / "manifest.json").unlink()
    told = "".join(outputs(executed(release, monkeypatch), "text/plain"))
    assert "manifest.json is missing" in told and "l2, shapes, baselines" in told


def test_it_is_committed_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    assert NOTEBOOK.stat().st_size < 20_000
