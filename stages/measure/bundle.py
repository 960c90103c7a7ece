"""Problems out to a GPU machine, and figures back.

A bundle is a folder that needs Python, torch and triton, nothing of this project:

    run.py               python3 run.py
    kernelset_measure/   the measuring code, as in this folder
    programs.jsonl       {sha256, code}: each program at each of its shapes
    manifest.json        protocol, code digest, rules, jobs
    results/             written by the run; `merge` reads them
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import KernelsetError, UsageError
from pipeline.files import whole_file, whole_folder
from pipeline.source.canonical import digest, problem_id
from pipeline.source.program import apply_sizes
from schemas.baseline import BASELINE
from stages.measure import journal, protocol
from stages.measure.baseline import baseline
from stages.measure.carried import FOLDER, MODULES, PACKAGE, code_digest, write_package
from stages.measure.replicates import joined
from stages.measure.settings import Precision

_RUN = '''"""Measures this bundle: python3 run.py --help"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from kernelset_measure.runner import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(FOLDER, sys.argv[1:]))
'''
Reading = tuple[str, str, bool]
"""A program's sha256, dtype and tf32."""
_KEY = ("program_sha256", "mode", "device", "dtype", "tf32")


@dataclass(frozen=True)
class Program:
    """One problem at one shape, as it will be executed."""

    problem_id: str
    shape_id: str
    code: str
    order: int  # 0 for the problem's first shape: these are measured before all others
    atol: float | None = None
    rtol: float | None = None
    working_set: int | None = None
    name: str = ""


def programs_of_table(path: Path) -> list[Program]:
    """The programs of a release or of a stage's table: a Parquet file, or a folder of them.

    Raises:
        UsageError: there are no problems with shapes.
    """
    paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    programs = []
    for file in paths:
        if not {"problem_id", "code", "shapes"} <= set(pq.read_schema(file).names):
            continue
        columns = ["problem_id", "code", "shapes", "atol", "rtol", "class_name"]
        for row in pq.read_table(file, columns=columns).to_pylist():
            programs += _programs_of_row(row)
    if not programs:
        raise UsageError(f"{path}: no table of problems with shapes in it")
    return programs


def programs_of_folder(folder: Path) -> list[Program]:
    """Programs in KernelBench's format, one a file, at the sizes they come with.

    Raises:
        UsageError: there are none.
    """
    programs = []
    for path in sorted(folder.rglob("*.py")):
        code = path.read_text("utf-8")
        if "def get_inputs(" in code and "class Model(" in code:
            name = path.relative_to(folder).as_posix()
            programs.append(Program(problem_id(code), "as_is", code, 0, name=name))
    if not programs:
        raise UsageError(f"{folder}: no file there defines Model and get_inputs()")
    return programs


def export(
    programs: Sequence[Program],
    folder: Path,
    precisions: Sequence[Precision],
    modes: Sequence[str],
    rules: Mapping[str, Any],
    known: Container[Reading] = (),
) -> int:
    """Writes a bundle and gives the number of its jobs.

    Args:
        programs: what to measure.
        folder: where to; must not exist yet.
        precisions: each program is measured in each of them.
        modes: eager first.
        rules: fields of `protocol.Rules` that differ from the GPU's own.
        known: what needs no job, see `settled`.

    Raises:
        UsageError: the folder is there already.
    """
    if folder.exists():
        raise UsageError(f"{folder} is there already; a bundle is a new folder")
    wanted = [
        (program, precision)
        for precision in precisions  # the order in which a run does them
        for program in programs
        if (digest(program.code), precision.dtype, precision.tf32) not in known
    ]
    texts = {digest(program.code): program.code for program, _ in wanted}
    lines = [json.dumps({"sha256": name, "code": code}) for name, code in texts.items()]
    data = "".join(line + "\n" for line in lines).encode()
    jobs = [_job(program, precision, modes) for program, precision in wanted]
    manifest = {
        "protocol": protocol.VERSION,
        "code_digest": code_digest(),
        "programs_sha256": sha256(data).hexdigest(),
        "rules": dict(rules),
        "jobs": jobs,
    }
    with whole_folder(folder) as new:
        write_package(new)
        (new / "run.py").write_text(_RUN)
        (new / "programs.jsonl").write_bytes(data)
        (new / "manifest.json").write_text(json.dumps(manifest))
    return len(jobs)


def settled(figures: Path) -> set[Reading]:
    """What a file of baselines already knows by this protocol.

    A reading that ended in a crash or a time-out may owe that to the machine: it is not settled.

    Args:
        figures: a file that `merge` wrote.
    """
    columns = ["program_sha256", "dtype", "tf32", "mode", "protocol", "status"]
    return {
        (row["program_sha256"], row["dtype"], row["tf32"])
        for row in pq.read_table(figures, columns=columns).to_pylist()
        if row["mode"] == "eager"
        and row["protocol"] == protocol.VERSION
        and row["status"] not in ("crash", "timeout")
    }


def merge(
    bundle: Path, results: Path, into: Path, data: Path, *, keep_code: bool = False
) -> pa.Table:
    """Brings results into a file of baselines and gives the new rows.

    Args:
        bundle: the bundle that was exported.
        results: the folder that its run wrote.
        into: Parquet file to add to; a row of the same program, mode, device and dtype is compared
            with the new reading, see replicates.py.
        data: the project's data folder, for the device table.
        keep_code: whether Inductor's code stays in the rows; figures alone may be committed.

    Raises:
        KernelsetError: the results are of other code, another protocol, another bundle, or damaged.
    """
    manifest = _checked_manifest(bundle)
    try:
        lines = journal.read(results, "results")
        generated = {line["sha256"]: line for line in journal.read(results, "generated")}
    except journal.DamagedJournal as error:
        raise KernelsetError(f"refused: {error}") from error
    if not lines or lines[0].get("manifest_sha256") != _digest_of(bundle / "manifest.json"):
        raise KernelsetError(f"refused: {results} does not hold results of {bundle}")
    rows = list(_rows(lines, manifest, generated if keep_code else {}, data))
    measured = pa.Table.from_pylist(rows, BASELINE)
    old = pq.read_table(into).to_pylist() if into.exists() else []
    kept: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in [*old, *rows]:
        key = tuple(row[name] for name in _KEY)
        kept[key] = joined(kept[key], row) if key in kept else row
    ordered = sorted(kept.values(), key=lambda row: tuple(str(row[name]) for name in _KEY))
    with whole_file(into) as path:
        pq.write_table(pa.Table.from_pylist(ordered, BASELINE), path, compression="zstd")
    return measured


def _programs_of_row(row: Mapping[str, Any]) -> list[Program]:
    return [
        Program(
            problem_id=row["problem_id"],
            shape_id=shape["shape_id"],
            code=apply_sizes(row["code"], {s["name"]: s["value"] for s in shape["sizes"]}),
            order=order,
            atol=row["atol"],
            rtol=row["rtol"],
            working_set=shape["working_set"],
            name=row["class_name"],
        )
        for order, shape in enumerate(row["shapes"])
    ]


def _job(program: Program, precision: Precision, modes: Sequence[str]) -> dict[str, Any]:
    name = digest(program.code)
    numbers = precision.dtype + ("-tf32" if precision.tf32 else "")
    return {
        "job": f"{name[:24]}-{numbers}",
        "program": name,
        "problem_id": program.problem_id,
        "shape_id": program.shape_id,
        "name": program.name,
        "round": program.order,
        "dtype": precision.dtype,
        "tf32": precision.tf32,
        "modes": list(modes),
        "atol": program.atol,
        "rtol": program.rtol,
        "working_set": program.working_set,
    }


def _checked_manifest(bundle: Path) -> dict[str, Any]:
    path = bundle / "manifest.json"
    if not path.exists():
        raise UsageError(f"{bundle} is no bundle: manifest.json is missing")
    manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if manifest["protocol"] != protocol.VERSION:
        raise KernelsetError(
            f"refused: measured by protocol {manifest['protocol']}, this is {protocol.VERSION}"
        )
    if manifest["code_digest"] != code_digest():
        raise KernelsetError(
            f"refused: {bundle} carries other measuring code than this checkout; "
            "merge with the checkout that exported it"
        )
    for name in MODULES:
        if (bundle / PACKAGE / f"{name}.py").read_bytes() != (FOLDER / f"{name}.py").read_bytes():
            raise KernelsetError(f"refused: {bundle / PACKAGE / name}.py was changed")
    return manifest


def _rows(
    lines: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
    generated: Mapping[str, Mapping[str, Any]],
    data: Path,
) -> Iterable[dict[str, Any]]:
    jobs = {job["job"]: job for job in manifest["jobs"]}
    environments = {
        line["id"]: line["environment"] for line in lines if line["kind"] == "environment"
    }
    moved = _moved(lines)
    for position, line in enumerate(lines):
        if line["kind"] != "job":
            continue
        job = jobs[line["job"]]
        environment = environments[line["environment"]] | _attained(lines)
        for record in line["records"]:
            row = baseline(record, job["shape_id"], environment, {}, data)
            code = generated.get(record.get("generated_sha256", ""))
            row["generated_code"] = journal.unpacked(dict(code)) if code else None
            row["reasons"] = sorted({*row["reasons"], *(["canary"] if position in moved else [])})
            yield {
                "problem_id": job["problem_id"],
                "program_sha256": job["program"],
                "code_digest": manifest["code_digest"],
                **row,
            }


def _moved(lines: Sequence[Mapping[str, Any]]) -> set[int]:
    """Positions of lines between two canaries of which the later moved against the earlier.

    A copy at 2 % says that memory or clocks have changed. A GEMM at full power wanders by some
    percent with temperature on a quiet H200 (769 to 798 TFLOP/s), so 5 % is its limit.
    """
    moved: set[int] = set()
    canaries = [(i, line) for i, line in enumerate(lines) if line["kind"] == "canary"]
    for (start, before), (end, after) in pairwise(canaries):
        copy = abs(after["copy_ms"] / before["copy_ms"] - 1)
        gemm = abs(after["gemm_ms"] / before["gemm_ms"] - 1)
        if copy > 0.02 or gemm > 0.05:
            moved |= set(range(start, end))
    return moved


def _attained(lines: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What the canaries attained in this run: the device's own peaks."""
    canaries = [line for line in lines if line["kind"] == "canary"]
    if not canaries:
        return {}
    return {
        name: round(sorted(line[name] for line in canaries)[len(canaries) // 2], 1)
        for name in ("gemm_tflops", "copy_gb_s")
    }


def _digest_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
