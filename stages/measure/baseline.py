"""From a worker's record to a row of the `baseline` table."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemas.baseline import BASELINE_FIELDS
from stages.measure import roofline

Record = Mapping[str, Any]
Baseline = dict[str, Any]


def baseline(
    record: Record,
    shape_id: str,
    environment: Mapping[str, Any],
    facts: Mapping[str, Any],
    data: Path,
) -> Baseline:
    """One row, with the fields of `BASELINE_FIELDS` and no others.

    Args:
        record: what the worker gave.
        shape_id: the shape that it measured.
        environment: what the worker said of the machine.
        facts: `flops` and `bytes_fused` of the shape, where the worker did not count itself.
        data: the project's data folder, for the device table.
    """
    row: Baseline = dict.fromkeys(BASELINE_FIELDS)
    row |= {name: value for name, value in record.items() if name in BASELINE_FIELDS}
    row["shape_id"] = shape_id
    row["environment"] = json.dumps(dict(environment), sort_keys=True)
    raw_ms = sorted(row["raw_ms"] or [])
    if len(raw_ms) > 1:
        middle = raw_ms[len(raw_ms) // 2]
        row["relative_range"] = (raw_ms[-1] - raw_ms[0]) / middle if middle else None
    if (record.get("host_share") or 0) > roofline.LAUNCH_BOUND:
        row["reasons"] = [*row["reasons"], "launch_bound"]
    _add_floor(row, record, facts, data)
    row["reasons"] = sorted(set(row["reasons"] or []))
    return row


def _add_floor(row: Baseline, record: Record, facts: Mapping[str, Any], data: Path) -> None:
    work = record.get("work") or {}
    matmul, other = work.get("flops_matmul"), work.get("flops_other", 0)
    if matmul is None:
        matmul, other = facts.get("flops"), 0
    bytes_min = work.get("bytes_min") or facts.get("bytes_fused")
    peaks = roofline.peaks_of(row["device"], data / "devices.toml")
    if matmul is None or not bytes_min:
        return
    row["intensity"] = (matmul + other) / bytes_min
    if peaks is None:
        return
    least = roofline.floor(peaks, matmul, other, bytes_min, row["dtype"], row["tf32"])
    row["floor_ms"], row["bound"] = least.floor_ms, least.bound
    row["headroom"] = least.headroom(row["median_ms"])
    row["reasons"] = [*row["reasons"], *_flags(row["headroom"])]


def _flags(headroom: float | None) -> list[str]:
    flags = []
    if headroom is not None and headroom < roofline.BELOW:
        flags.append("below_floor")
    elif headroom is not None and headroom < roofline.NO_HEADROOM:
        flags.append("no_headroom")
    elif headroom is not None and headroom > roofline.SUSPICIOUS:
        flags.append("suspicious_baseline")
    return flags
