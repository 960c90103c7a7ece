"""Measured times: roofline, speedups of TorchInductor over eager, spread of repeated runs."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pipeline.paths import DATA
from pipeline.report.reading import Release

SAME = ["row", "shape_id", "device", "dtype", "tf32"]  # a speedup is a ratio within these


@dataclass(frozen=True)
class Roof:
    """What a device can do at most: GFLOP/s of float32, GB/s of memory."""

    device: str
    gflops: float
    bandwidth: float


def measured(release: Release) -> pd.DataFrame:
    """Times that can be used, each with the work that was done in it.

    Returns:
        Columns of `baselines`, with problem_id, flops and `gflops`, the GFLOP/s attained.
    """
    times = release.baselines
    times = times[(times["status"] == "ok") & times["median_ms"].notna()]
    times = times.astype({"median_ms": float, "intensity": float, "relative_range": float})
    work = release.shapes[["row", "shape_id", "flops"]].drop_duplicates(["row", "shape_id"])
    times = times.merge(work, on=["row", "shape_id"], how="left")
    names = release.problems[["problem_id", "class_name"]]
    times = times.join(names, on="row")
    return times.assign(gflops=times["flops"].astype(float) / times["median_ms"] / 1e6)


def roofline(release: Release, device: str) -> pd.DataFrame:
    """The times of a device that have an intensity (flop per byte) and some flops."""
    times = measured(release)
    return times[(times["device"] == device) & (times["intensity"] > 0) & (times["gflops"] > 0)]


def devices(release: Release) -> pd.DataFrame:
    """device, kind, mode, ok, not_ok; GPUs first, then by the number of times."""
    times = release.baselines.assign(ok=release.baselines["status"] == "ok")
    if times.empty:
        return pd.DataFrame(columns=["device", "device_kind", "mode", "ok", "not_ok"])
    keys = ["device", "device_kind", "mode"]
    found = times.groupby(keys, dropna=False)["ok"].agg(ok="sum", all="size").reset_index()
    found["not_ok"] = found["all"] - found["ok"]
    found["cpu"] = found["device_kind"] != "cuda"
    order = found.sort_values(["cpu", "ok", *keys], ascending=[True, False, True, True, True])
    return order[["device", "device_kind", "mode", "ok", "not_ok"]]


def speedups(release: Release) -> pd.DataFrame:
    """eager_ms, inductor_ms and speedup, for each shape, device and dtype that has both."""
    times = measured(release)
    eager = times[times["mode"] == "eager"].drop_duplicates(SAME)
    compiled = times[times["mode"] == "inductor"].drop_duplicates(SAME)
    pairs = eager.merge(
        compiled[[*SAME, "median_ms"]].rename(columns={"median_ms": "inductor_ms"}), on=SAME
    ).rename(columns={"median_ms": "eager_ms"})
    return pairs.assign(speedup=pairs["eager_ms"] / pairs["inductor_ms"])


def spread(release: Release) -> pd.Series:
    """(greatest - least) / median of each time's repeated runs."""
    return measured(release)["relative_range"].dropna()


def roof_of(device: str, table: Path = DATA / "devices.toml") -> Roof | None:
    """A device's roof, from the table that the measuring stage uses; None if it has none."""
    if not table.exists():
        return None
    known = tomllib.loads(table.read_text("utf-8"))["device"]
    named = [line for line in known if device.startswith(line["name"])]
    if not named:
        return None
    best = max(named, key=lambda line: len(line["name"]))
    return Roof(best["name"], best["float32"] * 1e3, float(best["bandwidth"]))
