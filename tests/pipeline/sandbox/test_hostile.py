"""Every program of tests/hostile/ is contained, ends as the table says, and leaves nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.sandbox import Fault, Limits, RawTensor, Reply, Sandbox, detect

from .leftovers import processes_left
from .prey import CHECKOUT, SECRET, laid_out

HERE = Path(__file__).parent
PROGRAMS = CHECKOUT / "tests" / "hostile"
LAYERS = tomllib.loads((PROGRAMS / "layers.toml").read_text())
"""Programs by the layer that stops them."""

LIMITS = Limits(wall_s=25, cpu_s=6, memory_mb=2048, file_mb=32, processes=32, output_kb=16)
SHORT = Limits(wall_s=0.7, cpu_s=6, memory_mb=2048, file_mb=32, processes=32, output_kb=16)
LITTLE_CPU = Limits(wall_s=20, cpu_s=1)

ENDS: dict[str, str] = {
    # Programs that don't end by themselves, or not well; all others answer "contained".
    "abort": "crash",
    "allocate_30_gb": "memory_limit",
    "allocate_30_gb_in_python": "memory_limit",
    "allocate_in_many_children": "memory_limit",
    "an_object_as_answer": "bad_result",
    "burn_cpu": "cpu_limit",
    "burn_cpu_deaf": "cpu_limit",
    "close_the_pipe": "no_result",
    "deep_recursion": "crash",
    "endless_loop": "timeout",
    "endless_output": "output_limit",
    "endless_sleep": "timeout",
    "endlessly_nested_answer": "bad_result",
    "exit_before_the_answer": "no_result",
    "exit_politely": "no_result",
    "forge_on_the_pipe": "bad_result",
    "huge_answer": "bad_result",
    "kill_everything": "crash",
    "other_system_call_table": "crash",
    "read_address_zero": "crash",
    "sleep_in_destructor_of_a_local": "timeout",
    "stop_itself": "timeout",
}
JUDGED = {
    "forge_by_ctypes": True,
    "lying_subclass": True,
    "patch_allclose": True,
    "patch_equality": None,
    "replace_the_worker": False,
}
"""Programs whose output a judge refuses, and what they had made their own process say of it."""
SPECIAL: dict[str, Limits] = dict.fromkeys(
    ["endless_loop", "endless_sleep", "sleep_in_destructor_of_a_local", "stop_itself"], SHORT
) | dict.fromkeys(["burn_cpu", "burn_cpu_deaf"], LITTLE_CPU)
NEEDS_NAMESPACES = {"fill_the_disk", "too_many_files"}
"""Without a tmpfs, each file is bounded but not their sum."""

NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What a program would like to reach."""
    with laid_out(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("outside")) as places:
        yield places


@pytest.fixture(scope="module")
def sandbox(target: dict[str, Any]) -> Iterator[Sandbox]:
    """One server for all programs: that the next one runs is part of the proof."""
    with Sandbox(HERE / "worker.py", LIMITS) as shared:
        yield shared


@pytest.fixture(scope="module")
def judging(target: dict[str, Any]) -> Iterator[Sandbox]:
    """A sandbox whose worker judges in a clean process."""
    with Sandbox(HERE / "judging_worker.py", LIMITS) as shared:
        yield shared


def attempt(sandbox: Sandbox, name: str, target: dict[str, Any]) -> Reply | Fault:
    """Runs a program and checks what must be true after every one of them."""
    outside, home = Path(target["outside"]), Path(target["home"])
    source = (PROGRAMS / f"{name}.py").read_text()
    outcome = sandbox.run({"source": source, "target": target}, SPECIAL.get(name))
    assert processes_left(sandbox) == []
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert (outside / "victim").read_text() == "untouched"
    assert [path.name for path in home.iterdir()] == [".netrc"]
    assert not (CHECKOUT / "escaped").exists()
    assert SECRET not in str(outcome)
    return outcome


@pytest.mark.parametrize("name", [name for name in NAMES if name not in JUDGED])
def test_a_hostile_program_is_contained(
    sandbox: Sandbox, target: dict[str, Any], name: str
) -> None:
    if detect().name != "namespaced" and name in NEEDS_NAMESPACES:
        pytest.skip("needs a tmpfs of its own")
    outcome = attempt(sandbox, name, target)
    if name in ENDS:
        assert isinstance(outcome, Fault), outcome
        assert outcome.reason == ENDS[name], outcome
    else:
        assert isinstance(outcome, Reply), outcome
        assert outcome.value == {"value": "contained"}


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_a_program_that_lies_about_its_output_is_judged_elsewhere(
    judging: Sandbox, name: str
) -> None:
    x = torch.arange(1.0, 5.0)
    request = {"source": (PROGRAMS / f"{name}.py").read_text(), "x": x}
    outcome = judging.run(request)
    assert isinstance(outcome, Reply), outcome
    assert outcome.value["equal"] is False
    if JUDGED[name] is not None:
        assert outcome.value["claimed"] is JUDGED[name]
    assert processes_left(judging) == []


def test_an_honest_program_is_judged_good(judging: Sandbox) -> None:
    outcome = judging.run({"source": "def forward(x): return x + x", "x": torch.ones(3)})
    assert isinstance(outcome, Reply)
    assert outcome.value == {"equal": True, "claimed": True}


def test_what_one_program_leaves_the_next_does_not_find(
    sandbox: Sandbox, target: dict[str, Any]
) -> None:
    for name in ("leave_something_behind", "secret_of_the_request_before"):
        outcome = attempt(sandbox, name, target)
        assert isinstance(outcome, Reply)
        assert outcome.value == {"value": "contained"}


def test_a_program_that_stops_the_clocks_is_timed_all_the_same(
    sandbox: Sandbox, target: dict[str, Any]
) -> None:
    assert attempt(sandbox, "patch_timers", target).seconds >= 0.3


def test_what_is_printed_comes_back_cut(sandbox: Sandbox, target: dict[str, Any]) -> None:
    outcome = attempt(sandbox, "a_megabyte_of_output", target)
    assert 16 * 1024 <= len(outcome.stdout) < 17 * 1024
    assert outcome.stdout.endswith("[cut after 16 KiB]")


def test_every_program_says_what_it_tries_and_stands_in_the_table() -> None:
    assert len(NAMES) >= 40
    for path in PROGRAMS.glob("*.py"):
        assert path.read_text().startswith('"""'), path.name
    assert set(ENDS) | set(JUDGED) <= set(NAMES)
    assert sorted(name for names in LAYERS.values() for name in names) == NAMES


def test_an_answer_carries_tensors_bit_for_bit(sandbox: Sandbox) -> None:
    source = "def run(): return torch.tensor([1.5, float('nan')], dtype=torch.bfloat16)"
    outcome = sandbox.run({"source": source})
    assert isinstance(outcome, Reply)
    raw = outcome.value["value"]
    assert isinstance(raw, RawTensor)
    assert raw.to_torch().view(torch.int16).tolist() == [0x3FC0, 0x7FC0]
