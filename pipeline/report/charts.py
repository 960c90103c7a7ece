"""Which figure is drawn how: the page's charts."""

import math
from dataclasses import dataclass

from markupsafe import Markup

from pipeline.report import distances, svg, times
from pipeline.report.reading import Release

MOST_DEVICES = 2
AXES = {"l2": "L2 distance", "jaccard": "token-set Jaccard"}


@dataclass(frozen=True)
class Chart:
    """A drawn figure; `svg` is None where there is nothing to draw, then `note` says why."""

    title: str
    note: str
    svg: Markup | None
    legend: tuple[tuple[str, str], ...] = ()  # (style, name)


def distance_charts(release: Release) -> list[Chart]:
    return [_distance_chart(distances.distances(release, metric)) for metric in distances.METRICS]


def roofline_charts(release: Release) -> list[Chart]:
    """One chart a device, GPUs first."""
    names = list(dict.fromkeys(times.devices(release)["device"].dropna()))
    return [_roofline_chart(release, name) for name in names[:MOST_DEVICES]]


def speedup_chart(release: Release) -> Chart:
    pairs = times.speedups(release)
    title = "TorchInductor against eager"
    if pairs.empty:
        return Chart(
            title, "No shape has both an eager and a TorchInductor time on one device.", None
        )
    points = list(zip(pairs["eager_ms"], pairs["inductor_ms"], strict=True))
    drawn = svg.scatter(
        [svg.Dots("shapes", "first", points)], "eager, ms", "TorchInductor, ms", diagonal=True
    )
    faster = int((pairs["speedup"] > 1).sum())
    note = (
        f"Median speedup {pairs['speedup'].median():.2f}× over {_many(len(pairs), 'shape')}; TorchInductor "
        f"is faster in {faster:,}. Below the line it is faster."
    )
    return Chart(title, note, drawn)


def spread_chart(release: Release) -> Chart:
    values = times.spread(release)
    title = "Spread of repeated runs"
    if values.empty:
        return Chart(title, "No time carries its repeated runs.", None)
    drawn = svg.histogram(
        [svg.Bars("times", "kept", values.tolist())],
        "(greatest − least) / median",
        0.0,
        min(1.0, math.ceil(values.quantile(0.99) * 20 + 1) / 20),  # the last bin holds the rest
        tell=_percent,
    )
    note = (
        f"Half of {_many(len(values), 'time')} vary by less than {_percent(values.median())}, "
        f"nine in ten by less than {_percent(values.quantile(0.9))}."
    )
    return Chart(title, note, drawn)


def working_set_chart(release: Release) -> Chart:
    values = release.shapes["working_set"].dropna().astype(float)
    title = "Working sets of all shapes"
    if values.empty:
        return Chart(title, "No shape tells its working set.", None)
    low, high = svg.decades_around(values[values > 0].tolist() or [1.0])
    drawn = svg.histogram(
        [svg.Bars("shapes", "kept", values.tolist())],
        "peak live tensors, byte",
        low,
        high,
        log=True,
        tell=svg.short,
    )
    note = f"Median {svg.short(values.median(), 'B')}, greatest {svg.short(values.max(), 'B')}."
    return Chart(title, note, drawn)


def _distance_chart(found: distances.Distances) -> Chart:
    if found.kept.empty and found.removed.empty:
        return Chart(found.title, "No row carries this distance.", None)
    values = [*found.kept, *found.removed, found.threshold or 0.0]
    high = 1.0 if found.metric == "jaccard" else math.ceil(max(values) * 5) / 5  # to the next 0.2
    mark = None if found.threshold is None else (found.threshold, f"threshold {found.threshold:g}")
    drawn = svg.histogram(
        [
            svg.Bars("kept", "kept", found.kept.tolist()),
            svg.Bars("removed", "removed", found.removed.tolist()),
        ],
        AXES[found.metric],
        0.0,
        high or 1.0,
        mark,
    )
    if found.threshold is None:
        note = "The release does not tell the threshold: the recipe leaves it to the embedder, and no row was removed by it."
    else:
        note = (
            f"A row {found.nearer} the threshold is removed; this took {_many(len(found.removed), 'row')}. "
            f"The nearest kept row is at {found.nearest:.3f}."
        )
    return Chart(
        found.title, note, drawn, (("kept", "kept"), ("removed", "removed by this metric"))
    )


def _roofline_chart(release: Release, device: str) -> Chart:
    lines = times.roofline(release, device)
    if lines.empty:
        return Chart(
            f"Roofline: {device}", "No time here has both flops and an arithmetic intensity.", None
        )
    roof = times.roof_of(device)
    series = [
        svg.Dots(mode, style, list(zip(group["intensity"], group["gflops"], strict=True)))
        for style, mode in (("first", "eager"), ("second", "inductor"))
        if len(group := lines[lines["mode"] == mode])
    ]
    drawn = svg.scatter(
        series,
        "arithmetic intensity, flop per byte",
        "attained, GFLOP/s",
        roof=(roof.gflops, roof.bandwidth) if roof else None,
    )
    note = (
        f"The line is the roof in float32: {svg.short(roof.gflops * 1e9, 'FLOP/s')} and "
        f"{svg.short(roof.bandwidth * 1e9, 'B/s')}, from the vendor's sheet."
        if roof
        else "This device is not in data/devices.toml: no roof is drawn."
    )
    return Chart(
        f"Roofline: {device}", note, drawn, tuple((dots.style, dots.name) for dots in series)
    )


def _percent(value: float) -> str:
    return f"{value * 100:.3g} %"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
