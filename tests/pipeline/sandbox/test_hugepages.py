"""The fork server's memory lies in huge pages where the kernel can do that, and nothing breaks else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline.sandbox.inside import hugepages, kernel
from pipeline.sandbox.levels import FOLDER

PROGRAM = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
from inside import hugepages
block = bytearray(b"x") * (64 * 2**20)
def huge():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))
before = huge()
hugepages.collapse()
assert block.count(b"x") == 64 * 2**20
print(before, huge())
"""


def _can_collapse() -> bool:
    """Whether this kernel knows the call at all: it then takes a length of zero."""
    try:
        kernel.call("madvise", 0, 0, hugepages._MADV_COLLAPSE)
    except kernel.Unavailable:
        return False
    return True


@pytest.mark.skipif(not _can_collapse(), reason="needs Linux 6.1 with transparent huge pages")
def test_memory_moves_into_huge_pages_and_keeps_its_content() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert after >= before and after >= 32 * 1024, "KiB"


def test_a_kernel_that_can_not_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def refuse(*arguments: object) -> int:
        asked.append(arguments)
        raise kernel.Unavailable(22, "madvise: Invalid argument")

    monkeypatch.setattr(kernel, "call", refuse)
    block = bytearray(16 * 2**20)
    hugepages.collapse()
    assert asked and len(block) == 16 * 2**20
