"""The files that start a refresh every night are well-formed and call what exists."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    units = [shutil.copy(path, tmp_path) for path in sorted(DEPLOY.glob("kernelset*"))]
    command = ["systemd-analyze", "verify", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_way_calls_a_target_of_the_makefile() -> None:
    for name in ("kernelset.service", "crontab", "Dockerfile", "nightly.yml"):
        text = (DEPLOY / name).read_text().replace('"make", "refresh"', "make refresh")
        called = re.findall(r"\bmake ([a-z]+)\b(?!\+)", text)
        assert called and set(called) <= TARGETS, name


def test_the_workflow_keeps_the_store_between_nights() -> None:
    workflow = yaml.safe_load((DEPLOY / "nightly.yml").read_text())
    steps = workflow["jobs"]["refresh"]["steps"]
    assert "out/store" in [step.get("with", {}).get("path") for step in steps]
    assert workflow["concurrency"] == "nightly"
