"""Runs the stage on texts, as the engine does."""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa

from pipeline.files import write_table
from pipeline.source.canonical import digest
from pipeline.source.package import PACKAGE, package_path
from pipeline.stage import Kept, Outcome, Workplace
from stages import STAGES

STAGE = next(stage for stage in STAGES if stage.name == "extract")


def extract(
    text: str, folder: Path, package: Mapping[str, str] | None = None, path: str = "file.py"
) -> list[Outcome]:
    """The outcomes of one file; `package` are the other files of its package."""
    files = {**(package or {}), path: text}
    sha256 = digest(repr(sorted(files.items())))
    rows = [{"path": name, "text": files[name]} for name in sorted(files)]
    if package is not None:
        write_table(
            pa.Table.from_pylist(rows, schema=PACKAGE), package_path(sha256, folder / "shared")
        )
    row = dict.fromkeys(STAGE.reads, "") | {"path": path, "text": text}
    row["package_sha256"] = sha256 if package is not None else ""
    place = Workplace(cache=_cache(), shared=folder / "shared", data=folder)
    (outcomes,) = STAGE.work([row], STAGE.settings(), place)
    return outcomes


@cache
def _cache() -> Path:
    """One for all tests: each other folder would start a fork server of its own."""
    return Path(tempfile.mkdtemp(prefix="kernelset-extract-"))


def one_kept(outcomes: list[Outcome]) -> dict[str, object]:
    """The columns of the only outcome, which must be a program."""
    (outcome,) = outcomes
    assert isinstance(outcome, Kept), outcome
    return dict(outcome.columns)


def reasons(outcomes: list[Outcome]) -> dict[str, str]:
    """Class name → reason, or `kept`."""
    return {
        str(one.columns["class_name"]) if isinstance(one, Kept) else one.name: "kept"
        if isinstance(one, Kept)
        else one.reason
        for one in outcomes
    }
