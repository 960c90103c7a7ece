"""Fingerprinting a checkout, and calibration on copies planted from it."""

import contextlib
import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from pipeline.errors import UsageError
from pipeline.llm.settings import LlmSettings
from pipeline.stage import Workplace
from schemas.benchmark import BENCHMARK
from stages.decontaminate.calibrate import (
    NEGATIVE,
    PARAPHRASE,
    SCAFFOLD,
    Calibration,
    plant_and_try,
)
from stages.decontaminate.commands import register
from stages.decontaminate.controls import CONTROLS, GATED_MIXER, PATCH_POOL, UNRELATED
from stages.decontaminate.embedders import open_embedder
from stages.decontaminate.fingerprint import Problem, read_problems, trace_program
from stages.decontaminate.fingerprints import read_provenance
from stages.decontaminate.planted import ALWAYS_CAUGHT, NothingToEdit, planted
from stages.decontaminate.planted.paraphrase import paraphraser
from tests.pipeline.llm.scripted import Asked, Said, completion, serving
from tests.stages.decontaminate.conftest import LAYERS, MINILM, graph_of


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout laid out like KernelBench's."""
    folder = tmp_path_factory.mktemp("checkout")
    for level, number, name, code in (
        (1, 19, "Gate", GATED_MIXER),
        (1, 2, "Pool", PATCH_POOL),
        (3, 1, "Wide", GATED_MIXER.replace("96", "128")),
    ):
        path = folder / "KernelBench" / f"level{level}" / f"{number}_{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return folder


def test_a_checkout_is_read_by_level_and_number(checkout: Path) -> None:
    problems = read_problems(str(checkout))
    assert [(p.level, p.number, p.name) for p in problems] == [
        (1, 2, "Pool"), (1, 19, "Gate"), (3, 1, "Wide"),
    ]  # fmt: skip


def test_one_number_twice_is_refused(tmp_path: Path) -> None:
    for name in ("1_a.py", "1_b.py"):
        (tmp_path / name).write_text(GATED_MIXER)
    with pytest.raises(UsageError, match="level 0 has number 1 twice"):
        read_problems(str(tmp_path))


def test_the_command_writes_fingerprints_without_code(checkout: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(
        app,
        [
            "fingerprint",
            str(checkout),
            "--name",
            "ours",
            "--commit",
            "abc",
            "--data",
            str(tmp_path),
        ],
    )
    assert result.exit_code == 0, result.output
    path = tmp_path / "benchmarks" / "ours.parquet"
    table = pq.read_table(path)
    assert table.schema.equals(BENCHMARK)
    assert table["problem"].to_pylist() == ["ours/1/2", "ours/1/19", "ours/3/1"]
    made = read_provenance(path)
    assert (made.commit, made.problems, made.traced) == ("abc", 3, 3)
    assert made.embedders == [open_embedder(MINILM).identity]
    graphs = table["graph_sha256"].to_pylist()
    assert graphs[1] == graphs[2] != graphs[0]  # sizes don't show
    assert b"nn.Linear" not in path.read_bytes()


def test_a_program_that_does_not_run_has_no_graph_and_says_why() -> None:
    traced = trace_program(GATED_MIXER.replace("F.leaky_relu", "F.no_such_function"))
    assert traced.graph_sha256 is None and traced.ops is None and traced.fault


def test_calibration_counts_copies_by_kind_and_tier_and_ordinary_programs_apart() -> None:
    problems = [Problem(1, n, "p", code) for n, code in enumerate(CONTROLS.values())]
    kinds = [*ALWAYS_CAUGHT, "functional", "chain_all"]
    trials = plant_and_try(problems, UNRELATED, open_embedder(MINILM), graph_of, kinds)
    found = Calibration(list(trials))
    recall = {row["kind"]: row for row in found.recall(jaccard=0.8, l2=0.3)}
    assert all(recall[kind]["any"] == 1.0 for kind in ALWAYS_CAUGHT)
    assert recall["verbatim"]["programs"] == len(CONTROLS)
    assert recall["names"]["same_canonical"] == 0.0
    false = {row["kind"]: row for row in found.false_removals(jaccard=0.8, l2=0.3)}
    assert false[NEGATIVE]["programs"] == len(UNRELATED)
    assert false[SCAFFOLD]["programs"] == len(CONTROLS)
    assert all(held for _, held in found.targets(jaccard=0.8, l2=0.3))
    curve = found.curve([0.0, 0.3, 2.0])
    assert [row["recall"] for row in curve] == sorted(row["recall"] for row in curve)
    assert curve[0]["recall"] == 0.0 and curve[-1] == {
        "l2": 2.0,
        "recall": 1.0,
        "false_removals": 1.0,
    }
    threshold = found.l2_for_false_removals(0.0)
    negatives = [t.nearest.l2 for t in found.negatives]
    assert threshold <= min(negatives) < threshold + 0.01
    needed = found.l2_for_recall(0.5)
    share = [row["recall"] for row in found.curve([needed - 0.01, needed])]
    assert share[0] < 0.5 <= share[1]


def test_an_ordinary_program_that_is_a_copy_is_put_aside_and_listed() -> None:
    problems = [Problem(1, 1, "p", GATED_MIXER)]
    others = {"copy": planted(GATED_MIXER, "names"), "other": PATCH_POOL}
    found = Calibration(
        list(plant_and_try(problems, others, open_embedder(MINILM), kinds=["verbatim"]))
    )
    assert [trial.name for trial in found.set_aside] == ["copy"]
    assert {trial.name for trial in found.negatives} == {"other", "other in 1/1"}


def test_what_is_missed_or_wrongly_removed_is_listed_and_the_promise_is_not_held() -> None:
    problems = [Problem(1, 1, "p", GATED_MIXER)]
    kinds = ["names", "loop"]
    others = {"near": GATED_MIXER.replace("return ", "return 2 * ")}
    found = Calibration(list(plant_and_try(problems, others, open_embedder(MINILM), kinds=kinds)))
    strict = {"jaccard": 0.999, "l2": 0.0}
    assert [trial.kind for trial in found.missed(**strict)] == ["loop"]
    assert [trial.name for trial in found.removed(jaccard=0.5, l2=0.0)][:1] == ["near"]
    assert [held for _, held in found.targets(**strict)] == [True, False, True]
    assert [held for _, held in found.targets(jaccard=0.5, l2=0.0)] == [True, True, False]


@pytest.mark.parametrize(
    ("reply", "counted"),
    [(planted(GATED_MIXER, "names"), 1), ("def (", 0), ("x = 1", 0), (None, 0)],
)
def test_a_copy_by_a_language_model_counts_if_it_is_a_program(
    reply: str | None, counted: int, tmp_path: Path
) -> None:
    asked = []

    def script(question: Asked) -> Said:
        asked.append(question.json)
        return completion(json.dumps({"code": reply}) if reply else "I can't do that.")

    place = Workplace(cache=tmp_path, shared=tmp_path, data=tmp_path)
    with serving(script) as server:
        rewrite = paraphraser(LlmSettings(model="m", base_url=server.url, max_wait_s=1), place)
        trials = plant_and_try(
            [Problem(1, 1, "p", GATED_MIXER)], {}, open_embedder(MINILM), kinds=["verbatim"],
            paraphrase=rewrite,
        )  # fmt: skip
        kinds = [trial.kind for trial in trials]
    assert kinds == ["verbatim", *[PARAPHRASE] * counted]
    assert "leaky_relu" in json.dumps(asked[0])


def test_the_command_writes_every_number_and_says_what_is_held(
    checkout: Path, tmp_path: Path
) -> None:
    app = typer.Typer()
    register(app)
    others = tmp_path / "others.jsonl"
    others.write_text("\n".join(json.dumps({"code": code}) for code in UNRELATED.values()))
    command = ["calibrate", str(checkout), "--negatives", str(others), "--no-trace", "--every", "3"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "held   every copy by verbatim" in result.output
    with (tmp_path / "out" / "trials.csv").open() as file:
        trials = list(csv.DictReader(file))
    assert {row["kind"] for row in trials} >= {"names", "chain_all", NEGATIVE, SCAFFOLD}
    assert all(row["removed_by"] for row in trials if row["kind"] == "names")
    assert "leaky_relu" not in (tmp_path / "out" / "trials.csv").read_text()  # numbers, no code


PROGRAMS = {**CONTROLS, "layers": LAYERS}


def applicable(kinds: list[str]) -> list[tuple[str, str]]:
    """(program, kind of edit) wherever the edit finds something to change."""
    pairs = []
    for name, code in PROGRAMS.items():
        for kind in kinds:
            with contextlib.suppress(NothingToEdit):
                planted(code, kind)
                pairs.append((name, kind))
    return pairs


@pytest.mark.parametrize(
    ("name", "kind"),
    applicable(
        ["names", "functional", "operators", "submodule", "unroll", "layer_loop", "chain_all"]
    ),
)
def test_a_planted_copy_computes_what_the_original_computes(name: str, kind: str) -> None:
    original = trace_program(PROGRAMS[name])
    copy = trace_program(planted(PROGRAMS[name], kind))
    assert original.graph_sha256 and copy.graph_sha256 == original.graph_sha256, copy.fault
