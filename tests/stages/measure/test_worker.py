"""What the worker makes of programs, on this machine's CPU and in this process."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from stages.measure import inductor, worker
from stages.measure.program import Tolerance, tolerance
from tests.stages.measure import programs
from tests.stages.measure.programs import program


def measured(
    code: str, modes: tuple[str, ...] = ("eager",), **request: Any
) -> list[dict[str, Any]]:
    fixed = {
        "device": "cpu",
        "dtype": "float32",
        "tf32": False,
        "rules": {"runs": 3, "spread": 99.0},
    }
    fixed["rules"] |= {"spread_short": 99.0, "drift": 99.0}
    item = {"key": "k", "code": code}
    return worker.handle({"programs": [item], "modes": modes, **fixed, **request})["records"]


def status(code: str, **request: Any) -> str:
    return measured(code, **request)[0]["status"]


def test_a_program_that_runs_gets_a_time_and_says_how_it_was_taken() -> None:
    (record,) = measured(programs.GOOD)
    assert record["status"] == "ok"
    assert len(record["raw_ms"]) == 3
    assert (record["device_kind"], record["dtype"], record["tf32"]) == ("cpu", "float32", False)
    assert record["inner_calls"] >= 1


def test_integers_views_and_nested_outputs_are_measured() -> None:
    assert status(program("return x // 2 + x", "torch.randint(0, 9, (ROWS, 4))")) == "ok"
    assert status(program("return {'a': [x.T], 'b': (x + 1, 'text')}")) == "ok"


def test_inputs_that_a_program_changes_are_cloned_for_every_call() -> None:
    (record,) = measured(programs.MUTATES)
    assert record["status"] == "ok"
    assert "mutates_inputs" in record["reasons"]


def test_calls_on_changed_inputs_would_not_agree() -> None:
    # Each call doubles its input: on one clone for a whole run the last output would be far off.
    assert status(program("return x.mul_(2.0)")) == "ok"


def test_an_output_that_differs_from_call_to_call_is_no_baseline() -> None:
    assert status(programs.RANDOM) == "mismatch"


def test_a_program_that_fails_only_in_bfloat16_says_so() -> None:
    for line in ("return self.lift(torch.zeros(4, 32))", "return torch.fft.rfft(x).abs()"):
        assert status(program(line)) == "ok"
        assert status(program(line), dtype="bfloat16") == "unsupported_dtype"


def test_an_operation_that_no_kernel_does_in_the_programs_own_integers_says_so() -> None:
    code = program("return torch.softmax(x, -1)", "torch.randint(0, 9, (ROWS, 4))")
    assert status(code) == "unsupported_dtype"


def test_a_loop_that_depends_on_data_is_measured_and_its_graph_breaks_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # TorchDynamo alone decides where a graph breaks; what Inductor would make of the pieces takes long.
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", lambda graph, *_, **__: graph)
    monkeypatch.setattr(inductor, "compiler_works", lambda: True)
    body = "while x.sum().item() < 1e6:\n    x = x * 8 + 1\nreturn torch.relu(x)"
    eager, compiled = measured(program(body), modes=("eager", "inductor"))
    assert (eager["status"], compiled["status"]) == ("ok", "ok")
    assert compiled["graph_breaks"] > 0
    assert "graph_break" in compiled["reasons"]


def test_memory_that_does_not_exist_is_oom_and_not_an_error() -> None:
    assert status(program("return x.new_ones(1 << 45)")) == "oom"


def test_a_failure_is_one_record_for_each_mode_with_the_place_in_the_program() -> None:
    records = measured(programs.RAISES, modes=("eager", "inductor"))
    assert [record["status"] for record in records] == ["error", "error"]
    assert "ValueError: no" in records[0]["detail"]
    assert "raise ValueError" in records[0]["detail"]


def test_a_program_without_a_tensor_in_its_output_is_an_error() -> None:
    assert status(programs.NO_TENSOR) == "error"


def test_a_machine_without_a_compiler_is_named_in_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inductor, "compiler_works", lambda: False)
    eager, compiled = measured(programs.GOOD, modes=("eager", "inductor"))
    assert (eager["status"], compiled["status"]) == ("ok", "no_compiler")
    assert compiled["median_ms"] is None


def test_only_floating_point_values_change_their_dtype() -> None:
    code = program("return self.lift.weight[x]", "torch.randint(0, 32, (8,))")
    assert status(code, dtype="bfloat16") == "ok"


def test_work_is_counted_where_it_is_asked_for() -> None:
    (record,) = measured(programs.GOOD, count=True)
    assert record["work"]["flops_matmul"] == 2 * 64 * 32 * 32


def test_the_phase_is_written_for_the_parent_that_keeps_the_time(tmp_path: Path) -> None:
    measured(programs.GOOD, phases=str(tmp_path / "phase"))
    phase, since = (tmp_path / "phase").read_text().split()
    assert phase == "leave"
    assert float(since) > 0


def test_the_state_says_where_the_seconds_of_a_job_went(tmp_path: Path) -> None:
    fixed = {"device": "cpu", "dtype": "float32", "tf32": False, "gate": str(tmp_path / "gate")}
    item = {"key": "k", "code": programs.GOOD}
    answer = worker.handle({"programs": [item], "modes": ["eager"], **fixed})
    spent_s = answer["state"]["spent_s"]
    assert {"load aside", "wait", "place", "count", "measure", "leave"} <= set(spent_s)
    assert all(seconds >= 0 for seconds in spent_s.values())


def test_finished_records_are_left_behind_before_the_next_mode_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "partial"
    measured(programs.GOOD, partial=str(path))
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["record"]["status"] == "ok"


def test_tf32_is_set_for_matmul_and_for_convolution_alike() -> None:
    measured(programs.GOOD, tf32=True)
    assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (True, True)
    measured(programs.GOOD, tf32=False)
    assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (
        False,
        False,
    )


def test_tolerance_bites_where_it_must() -> None:
    near, one = Tolerance(atol=1e-3, rtol=0.0), torch.ones(4)
    assert near.difference(one + 5e-4, [one]).worst == pytest.approx(0.5, rel=1e-3)
    assert near.agrees(near.difference(one + 5e-4, [one]))
    for wrong in (one + 2e-3, torch.ones(5), [one, one], one * float("nan"), one * float("inf")):
        assert not near.agrees(near.difference(wrong, [one]))
    assert not near.agrees(near.difference(torch.tensor([1, 2]), [torch.tensor([1, 3])]))
    both = torch.tensor([float("inf"), float("nan")])
    assert near.difference(both, [both]).worst == 0


def test_tf32_is_compared_as_finely_as_ten_bits_allow_and_no_finer() -> None:
    expected = torch.ones(1000)
    strict, loose = (tolerance("float32", 1e-5, 1e-4, 1.0, tf32=tf32) for tf32 in (False, True))
    assert not strict.agrees(strict.difference(expected * 1.001, [expected]))
    assert loose.agrees(loose.difference(expected * 1.001, [expected]))
    assert not loose.agrees(loose.difference(expected * 1.01, [expected]))
    code = program("return x + 1e-3 * torch.rand_like(x)", "torch.ones(ROWS, 32)")
    assert [status(code, tf32=tf32) for tf32 in (False, True)] == ["mismatch", "ok"]


def test_a_few_elements_on_the_other_side_of_a_comparison_are_no_mismatch() -> None:
    expected = torch.zeros(100_000)
    few, many = expected.clone(), expected.clone()
    few[:5], many[:50] = -30.0, -30.0
    strict = tolerance("float32", None, None, 1.0)
    assert strict.agrees(strict.difference(few, [expected]))
    assert strict.difference(few, [expected]).worst > 1e4
    assert not strict.agrees(strict.difference(many, [expected]))


def test_kernels_are_counted_in_generated_code() -> None:
    source = "\n".join(
        [
            "triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''",
            "triton_red_fused_1 = async_compile.triton('triton_red_fused_1', '''",
            "def call(args):",
            "    extern_kernels.mm(a, b, out=c)",
            "    d = torch.ops.aten.convolution.default(x, w)",
        ]
    )
    assert inductor.count_triton(source) == 2
    assert inductor.count_extern(source) == 2
