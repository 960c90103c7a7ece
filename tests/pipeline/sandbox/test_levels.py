"""The sandbox also holds where a machine offers less, refuses where it is asked for more, and says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sandbox import (
    LEVELS,
    Fault,
    Limits,
    Reply,
    Sandbox,
    SandboxTooWeak,
    describe,
    detect,
)
from pipeline.sandbox.levels import _survey

from .leftovers import processes_left
from .prey import CHECKOUT, SECRET
from .test_hostile import ENDS, HERE, NEEDS_NAMESPACES, PROGRAMS

LIMITS = Limits(wall_s=5, cpu_s=6, memory_mb=2048, file_mb=8, processes=32, output_kb=16)
PROGRAMS_FOR_ALL_LEVELS = (
    "abort", "answer_twice", "endless_output", "exit_before_the_answer", "forge_on_the_pipe",
    "forge_on_stdout", "fork_bomb", "grandchild_that_outlives", "leave_something_behind",
    "secret_in_environment", "secret_in_open_descriptors", "secret_of_the_request_before",
    "sleep_in_destructor", "thread_bomb",
)  # fmt: skip
PROGRAMS_FOR_CONFINED = (
    "abstract_unix_socket", "become_root", "change_kernel_settings", "connect_to_loopback",
    "execute_from_memory", "io_uring", "ptrace_the_parent", "read_memory_of_the_parent",
    "secret_in_checkout", "secret_in_home", "secret_in_own_proc", "secret_in_proc_of_parents",
    "signal_the_parents", "start_a_shell", "symlink_escape", "write_outside_tmp",
)  # fmt: skip


@pytest.fixture(scope="module", params=[("namespaces",), ("namespaces", "landlock")], ids="+".join)
def weaker(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox without some of the layers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELSET_TEST_SECRET", SECRET)
        with Sandbox(HERE / "worker.py", LIMITS, without=set(request.param)) as sandbox:
            try:
                sandbox.run({"echo": 1})
            except SandboxTooWeak as error:
                pytest.skip(str(error))
            yield sandbox


@pytest.mark.parametrize("name", PROGRAMS_FOR_ALL_LEVELS)
def test_a_program_is_contained_without_some_layers(weaker: Sandbox, name: str) -> None:
    check(weaker, name, {"secret": SECRET})


@pytest.mark.parametrize("name", PROGRAMS_FOR_CONFINED)
def test_landlock_and_seccomp_alone_contain_a_program(
    weaker: Sandbox, name: str, tmp_path: Path
) -> None:
    outcome = weaker.run({"echo": 1})
    if outcome.sandbox_level == "process":
        pytest.skip("no Landlock")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".netrc").write_text(SECRET)
    (tmp_path / "victim").write_text("untouched")
    for folder in (tmp_path, tmp_path / "home"):
        folder.chmod(0o777)
    target = {
        "secret": SECRET,
        "home": str(tmp_path / "home"),
        "outside": str(tmp_path),
        "checkout": str(CHECKOUT),
        "port": 9,
        "unix": "\0kernelset-nobody",
        "pid": os.getpid(),
    }
    check(weaker, name, target)
    assert (tmp_path / "victim").read_text() == "untouched"


def check(sandbox: Sandbox, name: str, target: dict[str, object]) -> None:
    """Runs a program and compares how it ends with the table."""
    assert name not in NEEDS_NAMESPACES
    source = (PROGRAMS / f"{name}.py").read_text()
    outcome = sandbox.run({"source": source, "target": target})
    assert processes_left(sandbox) == []
    if name in ENDS:
        assert isinstance(outcome, Fault), outcome
        assert outcome.reason == ENDS[name], outcome
    else:
        assert isinstance(outcome, Reply), outcome
        assert outcome.value == {"value": "contained"}


def test_the_private_tmp_of_a_weaker_sandbox_is_removed(weaker: Sandbox) -> None:
    source = (PROGRAMS / "leave_something_behind.py").read_text()
    assert isinstance(weaker.run({"source": source}), Reply)
    assert weaker._server is not None
    scratch = Path(weaker._server._scratch)
    assert list(scratch.iterdir()) == []
    weaker.close()
    assert not scratch.exists()


def test_below_the_minimum_nothing_runs_and_one_line_says_why() -> None:
    with (
        Sandbox(HERE / "worker.py", minimum="confined", without={"seccomp"}) as sandbox,
        pytest.raises(SandboxTooWeak, match="level process, confined is asked for") as refusal,
    ):
        sandbox.run({"echo": 1})
    assert "\n" not in str(refusal.value)


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no sandbox level"):
        Sandbox(HERE / "worker.py", minimum="airtight")


def test_the_machine_is_described_layer_by_layer() -> None:
    level = detect()
    assert level.name in LEVELS
    assert level.at_least("process")
    assert {layer.name for layer in level.layers} == {
        "process", "landlock", "seccomp", "namespaces",
    }  # fmt: skip
    assert set(level.available) | set(level.missing) == {layer.name for layer in level.layers}
    assert describe().startswith(f"sandbox: {level.name}\n")
    assert bool(level.advice) == bool(level.missing)


@pytest.mark.skipif(
    "namespaces" in detect().missing, reason="this machine has no namespaces to lose"
)
def test_a_library_path_that_links_into_a_shown_folder_costs_no_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # NVIDIA's /usr/local/nvidia/lib64 -> lib is one: it comes with /usr, and was made twice.
    link = Path(sys.prefix) / "lib64"
    if not link.is_symlink():
        pytest.skip("this environment has no lib64 of its own")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(link))
    _survey.cache_clear()
    try:
        assert "namespaces" not in detect().missing
    finally:
        _survey.cache_clear()
