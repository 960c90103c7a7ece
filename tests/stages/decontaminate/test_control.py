"""The control: the run stops where the check does not work."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipeline.errors import StaleFingerprint
from pipeline.stage import Workplace
from schemas.benchmark import METADATA_KEY
from stages.decontaminate import STAGE, control
from stages.decontaminate.control import (
    ControlMissed,
    check_known_answers,
    check_planted,
    check_recall,
)
from stages.decontaminate.controls import CONTROLS, PHASES
from stages.decontaminate.embedders import Embedder, open_embedder
from stages.decontaminate.features import fingerprinted
from stages.decontaminate.fingerprints import (
    fingerprint_path,
    identity,
    read_provenance,
    write_fingerprints,
)
from stages.decontaminate.settings import DecontaminateSettings
from tests.stages.decontaminate.conftest import MINILM, as_row, make_fingerprints

OURS = DecontaminateSettings(benchmarks=("ours",))


class OtherModel:
    """An embedder that says it is minilm, and is not."""

    identity = open_embedder(MINILM).identity

    def embed(self, text: str) -> np.ndarray:
        vector = np.zeros(384, np.float32)
        vector[len(text) % 384] = 1
        return vector


def test_an_embedder_with_other_weights_under_the_same_name_is_noticed(data: Path) -> None:
    path = fingerprint_path(data, "ours")
    check_known_answers(read_provenance(path), path, open_embedder(MINILM))
    with pytest.raises(ControlMissed, match="known answer"):
        check_known_answers(read_provenance(path), path, OtherModel())


def test_a_problem_that_its_own_fingerprint_does_not_find_stops_the_run(data: Path) -> None:
    table = pq.read_table(fingerprint_path(data, "ours"))
    problems = fingerprinted(table, open_embedder(MINILM).identity)
    check_recall(problems, OURS)
    broken = {
        name: dataclasses.replace(f, vector=np.full_like(f.vector, np.nan))
        for name, f in problems.items()
    }
    with pytest.raises(ControlMissed, match="not found by embedding"):
        check_recall(broken, OURS)


def test_a_broken_shape_blind_form_is_noticed_before_any_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder: Embedder = open_embedder(MINILM)
    check_planted(embedder, OURS)
    monkeypatch.setattr(control, "shape_blind_digest", lambda code: str(hash(code)))
    with pytest.raises(ControlMissed, match="passes, edited by"):
        check_planted(embedder, OURS)


def test_unrelated_programs_must_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "UNRELATED", {"really_a_copy": next(iter(CONTROLS.values()))})
    with pytest.raises(ControlMissed, match="really_a_copy"):
        check_planted(open_embedder(MINILM), OURS)


def edited(path: Path, **changes: object) -> None:
    """Rewrites a fingerprint file's metadata."""
    table = pq.read_table(path)
    notes = json.loads(table.schema.metadata[METADATA_KEY]) | changes
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(notes)}), path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tokens": 0}, "tokenizer scheme 0"),
        ({"shape_blind": 99}, "shape-blind form 99"),
        ({"fingerprint": 99}, "fingerprint format 99"),
        ({"probes": {"minilm/other==1": []}}, "no vectors of embedder"),
        ({"unknown": 1}, "not a fingerprint file of this version"),
    ],
)
def test_fingerprints_made_by_other_rules_are_refused_with_the_command_that_mends_it(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    edited(make_fingerprints(tmp_path, "ours", [PHASES]), **changes)
    with pytest.raises(StaleFingerprint, match=complaint) as caught:
        identity(OURS, tmp_path)
    assert "kernelset fingerprint CHECKOUT --name ours" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_graphs_traced_by_other_rules_are_refused_before_any_work(tmp_path: Path) -> None:
    edited(make_fingerprints(tmp_path, "ours", [PHASES]), graph=99)
    with pytest.raises(StaleFingerprint, match="graph rules 99"):
        identity(OURS, tmp_path)
    place = Workplace(cache=tmp_path / "c", shared=tmp_path / "s", data=tmp_path)
    with pytest.raises(StaleFingerprint, match="graph rules 99"):
        STAGE.work([as_row(PHASES)], OURS, place)


@pytest.mark.parametrize("content", [None, b"", b"not parquet"])
def test_a_missing_or_damaged_fingerprint_file_is_one_line(
    tmp_path: Path, content: bytes | None
) -> None:
    path = fingerprint_path(tmp_path, "ours")
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StaleFingerprint, match="run: kernelset fingerprint"):
        identity(OURS, tmp_path)


def test_another_fingerprint_file_is_another_identity(tmp_path: Path) -> None:
    path = make_fingerprints(tmp_path, "ours", [PHASES])
    before = identity(OURS, tmp_path)
    rows = pq.read_table(path).to_pylist()
    write_fingerprints(rows * 2, read_provenance(path), path)
    assert identity(OURS, tmp_path) != before
