"""The whole flow on real modules: what a user gets, and the four laws on all stages."""

import ast
import json
import shutil
from pathlib import Path

import datasets
import pandas
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.files import file_digest_tree
from pipeline.source.canonical import problem_id
from pipeline.store import Store
from schemas.ledger import FAILED, REMOVED
from schemas.problem import RELEASED
from stages import STAGES
from tests.conftest import Finished, kernelset


def shards(finished: Finished) -> list[str]:
    return [str(path) for path in sorted(finished.release.glob("data/*.parquet"))]


def test_the_run_ends_by_naming_the_release_its_funnel_and_how_to_load_it(tiny: Finished) -> None:
    assert str(tiny.release) in tiny.done.stdout
    assert 'datasets.load_dataset("parquet"' in tiny.done.stdout
    for stage in STAGES:
        assert stage.name in tiny.done.stdout


def test_a_release_loads_with_datasets_and_pandas(tiny: Finished, tmp_path: Path) -> None:
    files = shards(tiny)
    loaded = datasets.load_dataset(
        "parquet", data_files=files, split="train", cache_dir=str(tmp_path)
    )
    frame = pandas.concat(pandas.read_parquet(file) for file in files)
    assert len(loaded) == len(frame) >= 10
    assert set(loaded.column_names) == set(RELEASED.names)


def test_every_shard_and_ledger_has_the_schema_of_the_contract(tiny: Finished) -> None:
    for file in shards(tiny):
        assert pq.read_schema(file).equals(RELEASED)
    assert pq.read_schema(tiny.release / "ledger" / "removed.parquet").equals(REMOVED)
    assert pq.read_schema(tiny.release / "ledger" / "failed.parquet").equals(FAILED)


def test_nothing_is_lost_at_any_stage(tiny: Finished) -> None:
    store = Store(tiny.root)
    before = None
    for stage in STAGES:
        result = store.result(stage.name)
        assert result is not None
        rows = result.rows
        assert rows["in"] == rows["kept"] + rows["removed"] + rows["failed"]
        if before is not None and not getattr(stage, "expands", False):
            assert rows["in"] == before
        before = rows["kept"]


def test_every_removal_has_a_reason_and_its_policy(tiny: Finished) -> None:
    removed = pq.read_table(tiny.release / "ledger" / "removed.parquet")
    assert removed.num_rows > 0
    assert pc.all(pc.greater(pc.utf8_length(removed["reason"]), 2)).as_py()
    assert pc.all(pc.greater(removed["policy"], 0)).as_py()


def test_identity_comes_from_content_and_is_unique(tiny: Finished) -> None:
    rows = [row for file in shards(tiny) for row in pq.read_table(file).to_pylist()]
    assert len({row["problem_id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["problem_id"] == problem_id(row["code"])


def test_every_program_has_the_benchmarks_format_and_needs_torch_alone(tiny: Finished) -> None:
    for file in shards(tiny):
        for code in pq.read_table(file)["code"].to_pylist():
            tree = ast.parse(code)
            names = {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
            assert {"Model", "get_inputs", "get_init_inputs"} <= names
            assert "transformers" not in code


def test_a_row_has_shapes_and_baselines_of_a_named_device(tiny: Finished) -> None:
    for file in shards(tiny):
        for row in pq.read_table(file).to_pylist():
            assert row["level"] in {"L0", "L1", "L2", "L3", "L4", "L5"}
            assert row["judge"].startswith("rules-")
            assert 1 <= len(row["shapes"]) <= 5
            (eager,) = [b for b in row["baselines"] if b["mode"] == "eager"]
            assert eager["device"]
            assert len(eager["raw_ms"]) == 5
            if eager["status"] == "ok":
                assert eager["median_ms"] == sorted(eager["raw_ms"])[2]
            else:  # a loaded machine: said, and no median that could be taken for a time
                assert eager["status"] == "noisy"
                assert eager["median_ms"] is None


def test_the_manifest_names_what_decided(tiny: Finished) -> None:
    manifest = json.loads((tiny.release / "manifest.json").read_text())
    decided = manifest["recipe"]["stages"]["decontaminate"]
    assert decided["jaccard"] == 0.8
    assert decided["embedder"]
    assert "l2" in decided
    files = file_digest_tree(tiny.release)
    del files["manifest.json"]
    assert manifest["files"] == files
    assert [s["address"]["stage"] for s in manifest["stages"]] == [s.name for s in STAGES]


def test_a_second_run_changes_nothing_and_publishes_nothing(tiny_copy: Finished) -> None:
    before = file_digest_tree(tiny_copy.root / "releases")
    done = kernelset("run", "--recipe", tiny_copy.recipe, "--out", tiny_copy.root, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert not told["new_release"]
    assert all(stage["unchanged"] for stage in told["stages"])
    assert file_digest_tree(tiny_copy.root / "releases") == before


def test_workers_do_not_change_a_byte_of_any_table(tiny: Finished, tmp_path: Path) -> None:
    """Timing is an observation: both runs share the measured times, everything else is redone."""
    store = tmp_path / "out" / "store" / "measure"
    shutil.copytree(tiny.root / "store" / "measure", store)
    shutil.rmtree(store / "result")
    done = kernelset(
        "run", "--recipe", tiny.recipe, "--out", tmp_path / "out", "--workers", "0", "--json"
    )
    assert done.returncode == 0, done.stderr
    for stage in STAGES:
        for name in ("kept", "removed", "failed"):
            path = f"store/{stage.name}/result/{name}.parquet"
            assert (tmp_path / "out" / path).read_bytes() == (tiny.root / path).read_bytes(), path
    new = (tmp_path / "out" / "latest").resolve()
    assert file_digest_tree(new) == file_digest_tree(tiny.release)


def test_explain_tells_a_rows_way_with_its_evidence(tiny: Finished) -> None:
    kept = pq.read_table(shards(tiny)[0])["problem_id"][0].as_py()
    done = kernelset("explain", kept[:12], "--out", tiny.root)
    assert done.returncode == 0, done.stderr
    for word in ("kept by decontaminate", "l2_problem", "class Model"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["run", "--recipe", "nope"], 2, "no recipe 'nope'"),
        (["run", "--until", "polish"], 2, "no stage 'polish'"),
        (["explain", "zzzz"], 2, "no row starts with 'zzzz'"),
        (["run", "--scheduler", "tcp://127.0.0.1:9"], 2, "no Dask scheduler answers"),
    ],
)
def test_trouble_is_one_line_with_an_exit_code(tmp_path: Path, arguments, code, line) -> None:
    done = kernelset(*arguments, "--out", tmp_path / "out")
    assert done.returncode == code, done.stderr
    assert line in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_in_use_has_its_own_exit_code(tmp_path: Path) -> None:
    with Store(tmp_path).lock():
        done = kernelset("run", "--out", tmp_path)
    assert done.returncode == 3
    assert "in use by process" in done.stderr


def test_doctor_and_status_speak_json(tmp_path: Path) -> None:
    checks = json.loads(kernelset("doctor", "--json").stdout)
    assert {"python", "sandbox", "gpu", "packages"} <= {check["name"] for check in checks}
    states = json.loads(kernelset("status", "--json", "--out", tmp_path).stdout)
    assert [state["stage"] for state in states] == [stage.name for stage in STAGES]
    assert states[0]["state"] == "missing"


def test_help_teaches(tmp_path: Path) -> None:
    text = kernelset("--help").stdout
    for command in ("run", "status", "doctor", "explain", "fingerprint", "measure"):
        assert command in text
