"""`kernelset audit`: anyone's dataset, a verdict, evidence, and nothing silently clean."""

import csv
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from pipeline.errors import StaleFingerprint, UsageError
from stages.decontaminate.audit import audit
from stages.decontaminate.commands import register
from stages.decontaminate.controls import CONTROLS, GATED_MIXER, PHASES, RUNNING_MAXIMUM
from stages.decontaminate.fingerprint import Traced
from stages.decontaminate.planted import planted
from stages.decontaminate.reading import read_programs
from tests.stages.decontaminate.conftest import graph_of, make_fingerprints

PROGRAMS = [GATED_MIXER, planted(GATED_MIXER, "names"), PHASES, RUNNING_MAXIMUM, "def (", None, ""]


@pytest.fixture(scope="module")
def kernelbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with KernelBook's columns."""
    path = tmp_path_factory.mktemp("set") / "kernelbook.parquet"
    pd.DataFrame(
        {
            "uuid": range(len(PROGRAMS)),
            "module_name": "Layer",
            "python_code": PROGRAMS,
            "triton_code": "import triton",
        }
    ).to_parquet(path)
    return path


def test_copies_are_hits_others_are_not_and_the_unreadable_are_neither(
    kernelbook: Path, data: Path
) -> None:
    found = audit(str(kernelbook), ["ours"], data=data)
    hits = found.hits()
    assert list(hits["name"]) == ["0:0", "1:1"]
    assert list(hits["reason"]) == ["same_canonical", "same_shape_blind"]
    assert set(hits["matched_id"]) == {"ours/1/1"}
    assert len(found.failed()) == 3
    assert "2 of 7 programs are within reach (28.6%); 3 could not be compared" in found.verdict()


def test_another_threshold_needs_no_recomputing(kernelbook: Path, data: Path) -> None:
    found = audit(str(kernelbook), ["ours"], data=data)
    strict = found.rethreshold(l2=2.0)
    assert len(strict.contaminated()) == 4 and strict.programs is found.programs
    least = strict.least_similar(1)
    assert least.iloc[0]["l2"] == strict.hits()["l2"].max()


def test_without_embedding_the_verdict_says_so(kernelbook: Path, data: Path) -> None:
    found = audit(str(kernelbook), ["ours"], data=data, embed=False)
    assert len(found.contaminated()) == 2
    assert "no embedder was asked; graphs: not traced" in found.verdict()


def test_with_traces_a_copy_is_found_by_what_it_computes(tmp_path: Path, data: Path) -> None:
    """The trace is that of a benchmark problem; no other tier knows the text."""
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps({"code": code}) for code in (PHASES + "y = 1\n", "x = 1")))

    def tracer(code: str) -> Traced:
        return graph_of(GATED_MIXER) if "y = 1" in code else Traced(fault="no Model")

    found = audit(str(path), ["ours"], data=data, embed=False, trace=tracer)
    assert found.hits()["same_graph"].to_list() == ["ours/1/1"]
    assert "graphs: 1 of 2 traced" in found.verdict()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "json", "folder"])
def test_the_same_programs_in_any_container_give_the_same_hits(
    kind: str, tmp_path: Path, data: Path
) -> None:
    codes = list(CONTROLS.values())
    path = tmp_path / f"set.{kind}"
    if kind == "folder":
        path.mkdir()
        for place, code in enumerate(codes):
            (path / f"{place}.py").write_text(code)
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([["ops", "data_source", "code"], *(["[]", "torch", c] for c in codes)])
    elif kind == "json":
        path.write_text(json.dumps([{"code": code} for code in codes]))
    else:
        path.write_text("\n".join(json.dumps({"code": code}) for code in codes))
    found = audit(str(path), ["ours"], data=data, embed=False)
    assert [hits[0].problem for _, hits in found.contaminated()] == [
        "ours/1/1",
        "ours/1/2",
        "ours/1/3",
    ]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("none.parquet", None, "no such file"),
        ("a.txt", "x", "can't read .txt"),
        ("a.jsonl", '{"text": 1}', "which column is the program"),
        ("a.jsonl", "{broken", "a.jsonl:1: not JSON"),
        ("a.jsonl", "", "holds no row"),
    ],
)
def test_a_dataset_that_can_not_be_read_is_one_line(
    tmp_path: Path, data: Path, name: str, content: str | None, complaint: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=complaint) as caught:
        audit(str(path), ["ours"], data=data, embed=False)
    assert "\n" not in str(caught.value)


def test_rows_without_a_program_are_failed_and_huge_or_tiny_ones_are_judged(
    tmp_path: Path, data: Path
) -> None:
    huge = GATED_MIXER + "\n".join(f"extra_{n} = {n}" for n in range(60_000))
    assert len(huge) > 1_000_000
    rows = [{"code": huge}, {"code": "x"}, {"code": None}, {"other": 1}, {"code": 7}, {"code": " "}]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = audit(str(path), ["ours"], data=data, embed=False)
    assert [hits[0].tier for _, hits in found.contaminated()] == ["same_shape_blind"]
    assert [program.name for program in found.failed()] == ["2:2", "3:3", "4:4", "5:5"]
    assert "4 could not be compared" in found.verdict()


def test_several_benchmarks_are_compared_at_once(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    make_fingerprints(folder, "second", [PHASES])
    path = tmp_path / "set.jsonl"
    codes = [planted(PHASES, "names"), planted(GATED_MIXER, "names"), RUNNING_MAXIMUM]
    path.write_text("\n".join(json.dumps({"code": code}) for code in codes))
    found = audit(str(path), ["ours", "second"], data=folder, embed=False)
    assert list(found.hits()["matched_id"]) == ["second/1/1", "ours/1/1"]


def test_a_wrong_column_is_refused_with_those_there_are(kernelbook: Path) -> None:
    with pytest.raises(UsageError, match="no column 'program'; it has: uuid, module_name"):
        list(read_programs(str(kernelbook), "program"))


def test_an_unknown_benchmark_is_refused(kernelbook: Path, data: Path) -> None:
    with pytest.raises(StaleFingerprint, match="kernelset fingerprint CHECKOUT --name other"):
        audit(str(kernelbook), ["other"], data=data, embed=False)


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


def test_the_command_writes_a_table_and_a_page_with_both_texts_and_fails_over_a_limit(
    app: typer.Typer, kernelbook: Path, data: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "bench"
    checkout.mkdir()
    for place, code in enumerate(CONTROLS.values(), start=1):
        (checkout / f"level1_{place}.py").write_text(code)
    command = ["audit", str(kernelbook), "--against", "ours", "--no-embed", "--data", str(data)]
    command += ["--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, [*command, "--fail-over", "5"]).exit_code == 0
    result = CliRunner().invoke(app, [*command, "--fail-over", "4"])
    assert result.exit_code == 1 and "2 of 7 programs are within reach" in result.output
    assert len(pd.read_parquet(tmp_path / "out" / "hits.parquet")) == 2
    page = (tmp_path / "out" / "audit.html").read_text()
    assert "ours/1/1" in page and "&#39;" not in page.split("</style>")[0]
    assert "http://" not in page and "https://" not in page and "<script" not in page


def test_code_in_the_page_is_escaped(app: typer.Typer, data: Path, tmp_path: Path) -> None:
    evil = GATED_MIXER + "# <script>alert(1)</script>\n"
    (tmp_path / "set.jsonl").write_text(json.dumps({"code": evil}))
    out = tmp_path / "out"
    CliRunner().invoke(
        app,
        ["audit", str(tmp_path / "set.jsonl"), "--against", "ours", "--no-embed",
         "--data", str(data), "--out", str(out)],
    )  # fmt: skip
    page = (out / "audit.html").read_text()
    assert "alert(1)" in page and "<script" not in page


def test_programs_that_can_not_be_compared_fail_the_check_like_copies(
    app: typer.Typer, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps({"code": code}) for code in (PHASES, "def (", None)))
    command = ["audit", str(path), "--against", "ours", "--no-embed", "--data", str(data)]
    command += ["--out", str(tmp_path / "out"), "--workers", "1"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert CliRunner().invoke(app, [*command, "--fail-over", "2"]).exit_code == 0
    result = CliRunner().invoke(app, [*command, "--fail-over", "1"])
    assert result.exit_code == 1 and "0 of 3 programs are within reach" in result.output


def test_workers_change_nothing_and_far_texts_are_not_kept(kernelbook: Path, data: Path) -> None:
    alone = audit(str(kernelbook), ["ours"], data=data, embed=False)
    assert audit(str(kernelbook), ["ours"], data=data, embed=False, workers=2) == alone
    assert alone.programs[1].code and not alone.programs[3].code
