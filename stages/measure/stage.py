"""The stage: for each problem all baselines, measured here or known from elsewhere."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.source.program import apply_sizes
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from stages.measure import known
from stages.measure.baseline import Baseline, baseline
from stages.measure.carried import code_digest
from stages.measure.machine import device_name
from stages.measure.on_cpu import CpuMeter, could_not_tell
from stages.measure.settings import MeasureSettings, Precision

NOISY_AGAIN = 3  # fresh children for a first shape that is noisy: a CPU is seldom left alone


def identity(settings: MeasureSettings, data: Path) -> Mapping[str, str]:
    """What else decides the figures: the device, the measuring code and the known figures."""
    kind, name = device_name(settings.device)
    figures = known.identity(data) if settings.known != "none" else {}
    return {"device": f"{kind} {name}", "code": code_digest(), **figures}


def measure(
    batch: Sequence[Row], settings: MeasureSettings, place: Workplace
) -> list[list[Outcome]]:
    """Baselines of each problem at each of its shapes."""
    kind, device = device_name(settings.device)
    found = known.read(place.data) if settings.known != "none" else known.KnownBaselines([])
    outcomes: list[list[Outcome]] = []
    for row in batch:
        programs = {
            shape["shape_id"]: apply_sizes(
                row["code"], {size["name"]: size["value"] for size in shape["sizes"]}
            )
            for shape in row["shapes"]
        }
        rows = [
            figure
            for shape_id, program in programs.items()
            for figure in found.of(row["problem_id"], program, shape_id)
        ]
        if kind == "cpu" and not (rows and settings.known == "instead"):
            rows += _measured_on_cpu(
                row, programs, CpuMeter(device, settings, place), settings, place
            )
        outcomes.append([decide(rows, row, settings)])
    return outcomes


def decide(rows: Sequence[Baseline], row: Row, settings: MeasureSettings) -> Outcome:
    """Keeps a problem that has an eager time at its first shape, on any device."""
    first = row["shapes"][0]["shape_id"]
    eager = [r for r in rows if r["mode"] == "eager" and r["shape_id"] == first]
    statuses = [r["status"] for r in eager]
    if rows and "ok" not in statuses:
        return _without_baseline(eager)
    if settings.window_ms is not None:
        rows = [_windowed(r, settings.window_ms) for r in rows]
        if settings.remove_outside_window and (outside := _all_outside(rows)):
            low, high = settings.window_ms
            limit = low if outside < low else high
            return Removed("outside_window", metric="median_ms", value=outside, threshold=limit)
    return Kept({"baselines": list(rows)})


def _measured_on_cpu(
    row: Row,
    programs: Mapping[str, str],
    meter: CpuMeter,
    settings: MeasureSettings,
    place: Workplace,
) -> list[Baseline]:
    limits = [settings.cpu_call_limit_ms] + [settings.cpu_other_call_limit_ms] * len(programs)
    items = [
        {"key": key, "code": code, "atol": row["atol"], "rtol": row["rtol"], "slowest_ms": limit}
        for (key, code), limit in zip(programs.items(), limits, strict=False)
    ]
    shapes = {shape["shape_id"]: shape for shape in row["shapes"]}
    rows = []
    for precision in settings.precisions:
        records = _eager_records(meter, precision, items)
        if records[0]["status"] == "ok" and chosen(row["problem_id"], settings.inductor_share_cpu):
            for mode in settings.modes[1:]:
                records += meter.records(mode, precision, items[:1])
        for record in records:
            key = record["key"]
            rows.append(baseline(record, key, record["environment"], shapes[key], place.data))
    return rows


def _eager_records(
    meter: CpuMeter, precision: Precision, items: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    records = meter.records("eager", precision, items)
    for _ in range(NOISY_AGAIN):
        if records[0]["status"] != "noisy":
            break
        records[:1] = meter.records("eager", precision, items[:1])
    return records


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
