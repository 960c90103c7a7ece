"""The stage as the engine calls it: crawled code in the sandbox, one outcome a row."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import KernelsetError, UsageError
from pipeline.paths import DATA
from pipeline.source.canonical import digest, problem_id
from pipeline.stage import Failed, Kept, Outcome, Removed, Workplace
from schemas.baseline import BASELINE, BASELINE_FIELDS
from stages.measure import STAGE
from stages.measure.cost import predicted_minutes
from stages.measure.machine import device_name
from stages.measure.settings import MeasureSettings, Precision
from stages.measure.stage import chosen, decide
from tests.stages.measure import programs
from tests.stages.measure.programs import program

QUICK = MeasureSettings(device="cpu", inductor_share_cpu=0.0, runs=3, wall_s=20)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    folder = tmp_path_factory.mktemp("place")
    return Workplace(cache=folder / "cache", shared=folder / "shared", data=folder / "data")


@pytest.fixture(autouse=True, scope="module")
def data(place: Workplace) -> None:
    place.data.mkdir()
    (place.data / "devices.toml").write_bytes((DATA / "devices.toml").read_bytes())


def row(code: str, rows: Sequence[int] = (64,)) -> dict[str, Any]:
    shapes = [
        {"shape_id": f"rows{n}", "sizes": [{"name": "ROWS", "value": n}], "working_set": 2**20}
        for n in rows
    ]
    return {
        "problem_id": problem_id(code),
        "code": code,
        "ops": [{"op": "aten.mm.default", "count": 3}],
        "shapes": shapes,
        "atol": 1e-5,
        "rtol": 1e-4,
    }


def outcome(code: str, place: Workplace, rows: Sequence[int] = (64,), **changes: Any) -> Outcome:
    settings = QUICK.model_copy(update=changes)
    ((only,),) = STAGE.work([row(code, rows)], settings, place)
    return only


def baselines(found: Outcome) -> list[dict[str, Any]]:
    assert isinstance(found, Kept), found
    return list(found.columns["baselines"])


def test_each_shape_has_an_eager_time_under_the_cpus_own_name(place: Workplace) -> None:
    found = baselines(outcome(programs.GOOD, place, rows=(64, 128, 32)))
    assert [b["shape_id"] for b in found] == ["rows64", "rows128", "rows32"]
    for b in found:
        assert set(b) == set(BASELINE_FIELDS)
        assert (b["mode"], b["device_kind"], b["device"]) == ("eager", *device_name("cpu"))
        assert len(b["raw_ms"]) == 3
        assert '"threads": 1' in b["environment"]
        assert b["floor_ms"] is None  # no data sheet of this CPU: no claim about its light speed


def test_the_columns_fit_the_schema(place: Workplace) -> None:
    found = baselines(outcome(programs.GOOD, place, rows=(64, 128)))
    pa.array([found], STAGE.gives.field("baselines").type)


def test_what_was_measured_once_keeps_its_time(place: Workplace) -> None:
    assert outcome(programs.OTHER, place) == outcome(programs.OTHER, place)


def test_a_shape_that_brings_its_child_down_costs_itself_alone(place: Workplace) -> None:
    code = program("import os\nif x.shape[0] == 99:\n    os._exit(0)\nreturn x + 1")
    found = baselines(outcome(code, place, rows=(64, 99, 32)))
    assert [b["status"] == "ok" for b in found] == [True, False, True]
    assert found[1]["median_ms"] is None
    assert found[1]["detail"]


def test_a_module_that_raises_or_changes_its_mind_is_removed(place: Workplace) -> None:
    assert outcome(programs.RAISES, place) == Removed("error", "no eager time at the first shape")
    changed = outcome(programs.RANDOM, place)
    assert isinstance(changed, Removed)
    assert changed.reason == "mismatch"


def test_a_call_beyond_the_cpus_limit_is_removed_with_its_time(place: Workplace) -> None:
    code = program("import time\ntime.sleep(0.05)\nreturn x + 1")
    found = outcome(code, place, cpu_call_limit_ms=20)
    assert isinstance(found, Removed)
    assert (found.reason, found.metric) == ("too_slow", "call_ms")
    assert found.value is not None
    assert found.value > 20


def test_a_crash_or_a_hang_is_a_failure_that_is_tried_again(place: Workplace) -> None:
    crash = outcome(programs.DIES, place)
    hang = outcome(program("import time\ntime.sleep(99)"), place, wall_s=1.0)
    assert isinstance(crash, Failed)
    assert hang == Failed("timeout", "no eager time at the first shape")


def test_a_problem_of_many_operations_is_not_compiled_on_a_cpu(place: Workplace) -> None:
    found = outcome(programs.GOOD, place, inductor_share_cpu=1.0, inductor_calls_cpu=2)
    assert [b["mode"] for b in baselines(found)] == ["eager"]


def test_inductor_is_compared_with_eager_and_leaves_its_code(place: Workplace) -> None:
    found = baselines(outcome(programs.GOOD, place, rows=(64, 128), inductor_share_cpu=1.0))
    compiled = [b for b in found if b["mode"] == "inductor"]
    assert [b["shape_id"] for b in compiled] == ["rows64"]  # on a CPU at the first shape alone
    assert compiled[0]["status"] in ("ok", "noisy", "no_compiler")
    if compiled[0]["status"] != "no_compiler":
        assert compiled[0]["agreement"] <= 1
        assert "def call(" in compiled[0]["generated_code"]
        assert compiled[0]["graphs"] == 1


def test_the_share_that_is_compiled_is_the_same_everywhere() -> None:
    ids = [digest(str(n))[:32] for n in range(2000)]
    some = [name for name in ids if chosen(name, 0.1)]
    assert 130 < len(some) < 270
    assert all(chosen(name, 0.5) for name in some)
    assert not any(chosen(name, 0.0) for name in ids)
    assert all(chosen(name, 1.0) for name in ids)


def known_row(**changes: Any) -> dict[str, Any]:
    figures: dict[str, Any] = dict.fromkeys(BASELINE.names)
    figures |= {
        "problem_id": problem_id(programs.GOOD),
        "program_sha256": digest(programs.GOOD),
        "code_digest": "c",
        "shape_id": "theirs",
        "mode": "eager",
        "device": "NVIDIA H200",
        "device_kind": "cuda",
        "status": "ok",
        "reasons": [],
        "median_ms": 2.0,
        "raw_ms": [2.0] * 5,
    }
    return figures | changes


def test_committed_figures_stand_beside_or_instead_of_this_machines(
    place: Workplace, tmp_path: Path
) -> None:
    here = Workplace(cache=tmp_path / "c", shared=tmp_path, data=tmp_path / "data")
    (here.data / "baselines").mkdir(parents=True)
    (here.data / "devices.toml").write_bytes((DATA / "devices.toml").read_bytes())
    pq.write_table(
        pa.Table.from_pylist([known_row()], BASELINE), here.data / "baselines" / "h200.parquet"
    )
    beside = baselines(outcome(programs.GOOD, here))
    assert [b["device_kind"] for b in beside] == ["cuda", "cpu"]
    assert beside[0]["device"] == "NVIDIA H200"
    assert beside[0]["shape_id"] == "rows64"  # this run's name of the same program
    instead = baselines(outcome(programs.GOOD, here, known="instead"))
    assert [b["device_kind"] for b in instead] == ["cuda"]
    assert [b["device_kind"] for b in baselines(outcome(programs.GOOD, here, known="none"))] == [
        "cpu"
    ]


def test_new_figures_and_another_device_are_new_work(place: Workplace, tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    before = STAGE.identity(QUICK, tmp_path)
    (tmp_path / "baselines" / "h200.parquet").write_bytes(b"figures")
    assert STAGE.identity(QUICK, tmp_path) != before
    assert STAGE.identity(QUICK.model_copy(update={"device": "none"}), tmp_path) != before


def test_only_gpu_workers_of_a_cluster_get_the_work_where_the_recipe_says_so(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = QUICK.model_copy(update={"device": "gpu-workers"})
    assert (STAGE.resource(QUICK), STAGE.resource(workers)) == ("", "GPU")
    assert "of the workers" in STAGE.identity(workers, place.data)["device"]
    monkeypatch.setattr(sys.modules["stages.measure.machine"], "_gpu_name", lambda: None)
    with pytest.raises(UsageError, match="is gpu-workers, and this machine has no NVIDIA GPU"):
        STAGE.work([row(programs.GOOD)], workers, place)


def test_a_file_that_is_no_table_of_baselines_is_named(place: Workplace, tmp_path: Path) -> None:
    here = Workplace(cache=tmp_path / "c", shared=tmp_path, data=tmp_path / "data")
    (here.data / "baselines").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), here.data / "baselines" / "odd.parquet")
    with pytest.raises(KernelsetError, match=r"odd\.parquet"):
        STAGE.work([row(programs.GOOD)], QUICK, here)


def test_a_time_outside_the_training_window_is_flagged_and_removed_only_on_wish() -> None:
    problem = row(programs.GOOD)
    slow = known_row(shape_id="rows64", median_ms=0.2)
    flagging = MeasureSettings(window_ms=(1, 1000))
    kept = baselines(decide([slow], problem, flagging))
    assert "outside_window" in kept[0]["reasons"]
    removed = decide(
        [slow], problem, MeasureSettings(window_ms=(1, 1000), remove_outside_window=True)
    )
    assert removed == Removed("outside_window", metric="median_ms", value=0.2, threshold=1)
    on_cpu = known_row(shape_id="rows64", median_ms=0.2, device_kind="cpu")
    assert isinstance(decide([on_cpu], problem, MeasureSettings(window_ms=(1, 1000))), Kept)
    assert "outside_window" not in on_cpu["reasons"]


def test_what_a_gpu_would_need_is_told_before_a_run_from_history_and_roofline() -> None:
    small, large = row(programs.GOOD, rows=(64, 128)), row(programs.GOOD, rows=(256,))
    large["shapes"][0] |= {"flops": 67 * 10**12, "bytes_fused": 2**30}  # a second in float32
    one = MeasureSettings()
    both = MeasureSettings(precisions=(Precision(), Precision(dtype="bfloat16")))
    assert STAGE.forecast is not None
    assert "2 problems at 3 shapes (3 jobs)" in STAGE.forecast([small, large], one, DATA)
    assert "(6 jobs)" in STAGE.forecast([small, large], both, DATA)
    assert predicted_minutes(1000, 1) == pytest.approx((30 + 2000 * 0.41) / 60)
    assert STAGE.forecast([large] * 100, one, DATA).endswith("about 72 minutes of an H200")
    assert STAGE.forecast([small] * 100, one, DATA).endswith("about 3 minutes of an H200")


def test_settings_that_do_not_measure_eager_first_are_refused() -> None:
    with pytest.raises(ValueError, match="begin with eager"):
        MeasureSettings(modes=("inductor",))


@pytest.mark.parametrize(("kind", "kept"), [("cpu", True), ("cuda", False)])
def test_noise_of_a_cpu_does_not_speak_against_a_problem(kind: str, kept: bool) -> None:
    noisy = {
        "mode": "eager",
        "shape_id": "a",
        "status": "noisy",
        "device_kind": kind,
        "raw_ms": [1.0, 2.0, 3.0, 1.0, 9.0],
        "median_ms": None,
    }
    outcome = decide([noisy], {"shapes": [{"shape_id": "a"}]}, MeasureSettings())
    assert isinstance(outcome, Kept if kept else Failed)
