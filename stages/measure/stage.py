"""The stage: for each problem all baselines, measured here or known from elsewhere."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.source.program import apply_sizes
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from stages.measure import known, on_gpu
from stages.measure.baseline import Baseline, baseline
from stages.measure.carried import code_digest
from stages.measure.machine import device_name
from stages.measure.on_cpu import CpuMeter, could_not_tell
from stages.measure.settings import MeasureSettings, Precision

GPU_WORKERS = "gpu-workers"
NOISY_AGAIN = 3  # fresh children for a first shape that is noisy: a CPU is seldom left alone


def identity(settings: MeasureSettings, data: Path) -> Mapping[str, str]:
    """What else decides the figures: the device, the measuring code and the known figures.

    The driver need not have a GPU of its own: what its GPU workers have stands in each row.
    """
    elsewhere = settings.device == GPU_WORKERS
    kind, name = ("cuda", "of the workers") if elsewhere else device_name(settings.device)
    figures = known.identity(data) if settings.known != "none" else {}
    return {"device": f"{kind} {name}", "code": code_digest(), **figures}


def resource(settings: MeasureSettings) -> str:
    """Which Dask workers get the work; the usual name for a worker that has a GPU to itself."""
    return "GPU" if settings.device == GPU_WORKERS else ""


def measure(
    batch: Sequence[Row], settings: MeasureSettings, place: Workplace
) -> list[list[Outcome]]:
    """Baselines of each problem at each of its shapes."""
    kind, device = device_name(settings.device)
    found = known.read(place.data) if settings.known != "none" else known.KnownBaselines([])
    rows = [_known(row, found) for row in batch]
    if kind != "none":
        missing = [
            i for i, known_rows in enumerate(rows) if settings.known != "instead" or not known_rows
        ]
        measured = _on_cpu if kind == "cpu" else _on_gpu
        new = measured([batch[i] for i in missing], device, settings, place)
        for i, more in zip(missing, new, strict=True):
            rows[i] = rows[i] + more
    return [[decide(mine, row, settings)] for mine, row in zip(rows, batch, strict=True)]


def decide(rows: Sequence[Baseline], row: Row, settings: MeasureSettings) -> Outcome:
    """Keeps a problem that has an eager time at its first shape, on any device.

    On a CPU, noise is the machine's and says nothing about the problem: the row stays, its baseline
    says `noisy` and has no median. On a GPU the time is the point, so the row is tried again.
    """
    first = row["shapes"][0]["shape_id"]
    eager = [r for r in rows if r["mode"] == "eager" and r["shape_id"] == first]
    statuses = [r["status"] for r in eager]
    noisy_cpu = any(r["status"] == "noisy" and r["device_kind"] == "cpu" for r in eager)
    if rows and "ok" not in statuses and not noisy_cpu:
        return _without_baseline(eager)
    if settings.window_ms is not None:
        rows = [_windowed(r, settings.window_ms) for r in rows]
        if settings.remove_outside_window and (outside := _all_outside(rows)):
            low, high = settings.window_ms
            limit = low if outside < low else high
            return Removed("outside_window", metric="median_ms", value=outside, threshold=limit)
    return Kept({"baselines": list(rows)})


def _known(row: Row, found: known.KnownBaselines) -> list[Baseline]:
    return [
        figure
        for shape_id, program in _programs(row).items()
        for figure in found.of(row["problem_id"], program, shape_id)
    ]


def _programs(row: Row) -> dict[str, str]:
    """The program at each shape."""
    return {
        shape["shape_id"]: apply_sizes(
            row["code"], {size["name"]: size["value"] for size in shape["sizes"]}
        )
        for shape in row["shapes"]
    }


def _on_cpu(
    batch: Sequence[Row], device: str, settings: MeasureSettings, place: Workplace
) -> list[list[Baseline]]:
    meter = CpuMeter(device, settings, place)
    return [_one_on_cpu(row, meter, settings, place) for row in batch]


def _one_on_cpu(
    row: Row, meter: CpuMeter, settings: MeasureSettings, place: Workplace
) -> list[Baseline]:
    programs = dict(itertools.islice(_programs(row).items(), settings.cpu_shapes))
    limits = [settings.cpu_call_limit_ms] + [settings.cpu_other_call_limit_ms] * len(programs)
    items = [
        {"key": key, "code": code, "atol": row["atol"], "rtol": row["rtol"], "slowest_ms": limit}
        for (key, code), limit in zip(programs.items(), limits, strict=False)
    ]
    records = []
    for precision in settings.precisions:
        eager = _eager_records(meter, precision, items)
        records += eager
        if eager[0]["status"] == "ok" and _compiled_here(row, settings):
            for mode in settings.modes[1:]:
                records += meter.records(mode, precision, items[:1])
    return _baselines(records, row, place)


def _on_gpu(
    batch: Sequence[Row], device: str, settings: MeasureSettings, place: Workplace
) -> list[list[Baseline]]:
    items = [
        {
            "key": f"{position} {shape['shape_id']}",
            "problem_id": row["problem_id"],
            "code": program,
            "atol": row["atol"],
            "rtol": row["rtol"],
            "working_set": shape["working_set"],
        }
        for position, row in enumerate(batch)
        for shape, program in zip(row["shapes"], _programs(row).values(), strict=True)
    ]
    found = on_gpu.records(items, settings, place)
    rows = []
    for position, row in enumerate(batch):
        records = [
            {**record, "key": shape["shape_id"]}
            for shape in row["shapes"]
            for record in found[f"{position} {shape['shape_id']}"]
        ]
        rows.append(_baselines(records, row, place))
    return rows


def _baselines(records: Sequence[Mapping[str, Any]], row: Row, place: Workplace) -> list[Baseline]:
    shapes = {shape["shape_id"]: shape for shape in row["shapes"]}
    return [
        baseline(record, record["key"], record["environment"], shapes[record["key"]], place.data)
        for record in records
    ]


def _eager_records(
    meter: CpuMeter, precision: Precision, items: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    records = meter.records("eager", precision, items)
    for _ in range(NOISY_AGAIN):
        if records[0]["status"] != "noisy":
            break
        records[:1] = meter.records("eager", precision, items[:1])
    return records


def _compiled_here(row: Row, settings: MeasureSettings) -> bool:
    calls = sum(op["count"] for op in row["ops"])
    return calls <= settings.inductor_calls_cpu and chosen(
        row["problem_id"], settings.inductor_share_cpu
    )


def chosen(problem_id: str, share: float) -> bool:
    """Whether a problem is in a share of all problems; the same answer on every machine."""
    first = hashlib.sha256(f"inductor {problem_id}".encode()).digest()[:8]
    return int.from_bytes(first) < share * 2**64


def _without_baseline(eager: Sequence[Baseline]) -> Outcome:
    status = str(eager[0]["status"]) if eager else "no_result"
    if status == "mismatch":
        return Removed("mismatch", "the output changed while it was being timed")
    if could_not_tell(status) or not eager:
        return Failed(status, "no eager time at the first shape")
    slow = max(eager[0]["raw_ms"] or [0.0]) if status == "too_slow" else None
    return Removed(
        status,
        "no eager time at the first shape",
        metric="call_ms" if slow else None,
        value=slow,
    )


def _windowed(row: Baseline, window: tuple[float, float]) -> Baseline:
    median = row["median_ms"]
    if row["device_kind"] != "cuda" or median is None or window[0] < median < window[1]:
        return row
    return row | {"reasons": sorted({*row["reasons"], "outside_window"})}


def _all_outside(rows: Sequence[Baseline]) -> float:
    """An eager GPU time outside the window if none is inside; 0 if one is, or none was taken."""
    eager = [
        r for r in rows if r["mode"] == "eager" and r["device_kind"] == "cuda" and r["median_ms"]
    ]
    inside = [r for r in eager if "outside_window" not in r["reasons"]]
    return float(eager[0]["median_ms"]) if eager and not inside else 0.0
