"""One real run of the whole flow over data/examples/, shared by all tests that look at a release."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.paths import ROOT

# What a shell starts with `&` ignores Ctrl-C, and so would all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

RECIPE = """
name = "tiny"
description = "a few examples, for the tests"
[crawl]
sources = ["examples"]
max_files = 6
[extract]
tries = 30
cpu_s = 8
[shapes]
rounds = 2
[measure]
cpu_shapes = 1
inductor_share_cpu = 0.1
known = "none"
"""


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    root: Path
    recipe: Path
    done: subprocess.CompletedProcess[str]

    @property
    def release(self) -> Path:
        return (self.root / "latest").resolve()


def kernelset(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command itself, as a user calls it."""
    command = [sys.executable, "-m", "stages", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env=os.environ | {"COLUMNS": "200"} | environment,
    )


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Finished:
    """The flow over six files of data/examples/, two workers."""
    root = tmp_path_factory.mktemp("tiny")
    recipe = root / "tiny.toml"
    recipe.write_text(RECIPE)
    out = root / "out"
    done = kernelset("run", "--recipe", recipe, "--out", out, "--workers", "2")
    assert done.returncode == 0, done.stderr + done.stdout  # no row failed either
    return Finished(out, recipe, done)


@pytest.fixture
def tiny_copy(tiny: Finished, tmp_path: Path) -> Finished:
    """A store of one's own, to change."""
    shutil.copytree(tiny.root, tmp_path / "out", symlinks=True)
    return Finished(tmp_path / "out", tiny.recipe, tiny.done)
