"""How good the baselines are: repeatability, and agreement with a published table.

    python benchmarks/measure.py repeat FIRST.parquet SECOND.parquet
    python benchmarks/measure.py published OURS.parquet BUNDLE TABLE.json [--mode eager]
    python benchmarks/measure.py readings OURS.parquet [--count 10]

The Parquet files are what `kernelset measure merge` writes; BUNDLE is the bundle that was measured
(it knows the problems' names); TABLE.json is KernelBench's results/timing/*/baseline_time_*.json.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(no_args_is_help=True, help=__doc__)
console = Console(width=140)
_KEY = ("program_sha256", "mode", "device", "dtype", "tf32")


@dataclass(frozen=True)
class Agreement:
    """How two lists of times agree."""

    count: int
    median_off: float  # median of |ratio - 1|
    p95_off: float
    worst: float


@app.command()
def repeat(first: Path, second: Path) -> None:
    """Ratio of two measurements of the same programs, accepted rows only."""
    groups = pairs_of(_accepted(first), _accepted(second))
    shown = Table("mode", "dtype", "pairs", "median |r-1|", "95 %", "worst", title="repeatability")
    for (mode, dtype), pairs in sorted(groups.items()):
        found = agreement(pairs)
        shown.add_row(
            mode, dtype, str(found.count), *(f"{v:.2%}" for v in (found.median_off, found.p95_off, found.worst))
        )  # fmt: skip
    console.print(shown)


@app.command()
def published(
    ours: Path,
    bundle: Path,
    table: Path,
    mode: Annotated[str, typer.Option(help="eager or inductor")] = "eager",
    dtype: Annotated[str, typer.Option(help="float32, or bfloat16")] = "float32",
    tf32: Annotated[bool, typer.Option(help="our rows with TF32")] = False,
    defaults: Annotated[
        Path | None,
        typer.Option(
            help="file of our TF32 rows, taken for programs with a convolution: torch's own defaults"
        ),
    ] = None,
    outliers: Annotated[int, typer.Option(help="how many outliers to show")] = 10,
) -> None:
    """Our times over the published means, by level: median, spread, rank correlation, outliers."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    names = {job["program"]: job["name"] for job in manifest["jobs"]}
    theirs = {
        f"{level}/{name}": row
        for level, rows in json.loads(table.read_text()).items()
        for name, row in rows.items()
    }
    convolves = _with_convolution(bundle) if defaults else set()
    found = []
    for row in [*_accepted(ours).values(), *(_accepted(defaults).values() if defaults else ())]:
        name = _level_and_file(names.get(row["program_sha256"], ""))
        wanted = (mode, dtype, tf32 or row["program_sha256"] in convolves)
        if (row["mode"], row["dtype"], row["tf32"]) == wanted and theirs.get(name):
            found.append((name, row, theirs[name]))
    shown = Table(
        "level",
        "pairs",
        "median",
        "10 %",
        "90 %",
        "rank corr.",
        title=f"{mode}: ours / {table.stem}",
    )
    for level in sorted({name.split("/")[0] for name, _, _ in found}):
        mine = [
            (row["median_ms"], their["mean"])
            for name, row, their in found
            if name.startswith(level)
        ]
        ratios = sorted(a / b for a, b in mine)
        shown.add_row(
            level, str(len(mine)), f"{median(ratios):.2f}", f"{quantile(ratios, 0.1):.2f}",
            f"{quantile(ratios, 0.9):.2f}", f"{rank_correlation(mine):.3f}",
        )  # fmt: skip
    console.print(shown)
    middle = median(row["median_ms"] / their["mean"] for _, row, their in found)
    found.sort(key=lambda item: -abs(item[1]["median_ms"] / item[2]["mean"] / middle - 1))
    worst = Table(
        "problem", "ours ms", "theirs ms", "ratio", "their CV", "floor", "bound", "reasons"
    )
    for name, row, their in found[:outliers]:
        worst.add_row(
            name, f"{row['median_ms']:.3f}", f"{their['mean']:.3f}",
            f"{row['median_ms'] / their['mean']:.2f}", f"{their['std'] / their['mean']:.1%}",
            _number(row["floor_ms"]), str(row["bound"]), ", ".join(row["reasons"]),
        )  # fmt: skip
    console.print(worst)


@app.command()
def readings(ours: Path, count: int = 10) -> None:
    """Some baselines beside their roofline, evenly over all headrooms."""
    rows = [row for row in _accepted(ours).values() if row["headroom"] is not None]
    rows.sort(key=lambda row: row["headroom"])
    shown = Table(
        "problem", "mode", "dtype", "median ms", "range", "floor ms", "headroom", "bound", "reasons"
    )
    for index in range(min(count, len(rows))):
        row = rows[index * (len(rows) - 1) // max(1, count - 1)]
        shown.add_row(
            row["problem_id"][:12], row["mode"], row["dtype"], _number(row["median_ms"]),
            f"{row['relative_range']:.1%}", _number(row["floor_ms"]), _number(row["headroom"]),
            row["bound"], ", ".join(row["reasons"]),
        )  # fmt: skip
    console.print(shown)


def pairs_of(
    first: Mapping[tuple[Any, ...], Mapping[str, Any]],
    second: Mapping[tuple[Any, ...], Mapping[str, Any]],
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Times of the same program under the same conditions, by (mode, dtype)."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for key in sorted(first.keys() & second.keys(), key=str):
        a, b = first[key], second[key]
        numbers = a["dtype"] + ("-tf32" if a["tf32"] else "")
        groups.setdefault((a["mode"], numbers), []).append((a["median_ms"], b["median_ms"]))
    return groups


def agreement(pairs: Sequence[tuple[float, float]]) -> Agreement:
    off = sorted(abs(b / a - 1) for a, b in pairs)
    return Agreement(len(off), median(off), quantile(off, 0.95), off[-1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of an ordered list lies, without interpolation."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's rho; ties keep their order, which is enough for times."""
    if len(pairs) < 2:
        return float("nan")
    firsts, seconds = (_ranks(values) for values in zip(*pairs, strict=True))
    n = len(pairs)
    apart = sum((a - b) ** 2 for a, b in zip(firsts, seconds, strict=True))
    return 1 - 6 * apart / (n * (n * n - 1))


def _ranks(values: Iterable[float]) -> list[int]:
    numbered = list(values)
    order = sorted(range(len(numbered)), key=numbered.__getitem__)
    ranks = [0] * len(order)
    for rank, index in enumerate(order):
        ranks[index] = rank
    return ranks


def _accepted(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = pq.read_table(path).to_pylist()
    return {tuple(row[name] for name in _KEY): row for row in rows if row["status"] == "ok"}


def _with_convolution(bundle: Path) -> set[str]:
    """Digests of the bundle's programs that convolve: torch allows TF32 there, and not in matmul."""
    rows = map(json.loads, (bundle / "programs.jsonl").read_text().splitlines())
    return {row["sha256"] for row in rows if re.search(r"[cC]onv(Transpose)?\d?d", row["code"])}


def _level_and_file(name: str) -> str:
    return "/".join(Path(name).parts[-2:])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


if __name__ == "__main__":
    app()
