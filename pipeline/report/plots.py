"""The report's figures as matplotlib plots, for notebooks. Needs the extra `notebook`.

Each function takes a release and gives a figure; one without data says so in the figure.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.report import contents, times
from pipeline.report.distances import METRICS, distances
from pipeline.report.reading import Release

KEPT, REMOVED, FAILED, SECOND = "#2b6f86", "#b7700d", "#b0413a", "#8a4f9e"
QUIET, LINE = "#62676f", "#e4e1da"


def plot_funnel(release: Release) -> Figure:
    """Kept, removed and failed, a bar a stage."""
    lines = contents.funnel(release)[::-1]
    figure, axes = _axes(1, height=0.36 * max(len(lines), 4) + 0.6)
    left = np.zeros(len(lines))
    for kind, colour in (("kept", KEPT), ("removed", REMOVED), ("failed", FAILED)):
        axes[0].barh(lines["stage"], lines[kind], left=left, color=colour, label=kind, height=0.55)
        left += lines[kind].to_numpy(float)
    if _told(axes[0], len(lines), "no manifest: the funnel is not known"):
        axes[0].legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def plot_levels_and_ops(release: Release) -> Figure:
    """How many problems a level, a kind of operation, an operation has."""
    figure, axes = _axes(3, height=3.8)
    _bars(axes[0], contents.levels(release), "difficulty")
    _bars(axes[1], contents.op_families(release), "kinds of operation")
    _bars(axes[2], contents.ops(release), "operations")
    return figure


def plot_distances(release: Release) -> Figure:
    """Distances of kept and removed rows to the benchmark, with the thresholds."""
    figure, axes = _axes(2)
    for ax, metric in zip(axes, METRICS, strict=True):
        found = distances(release, metric)
        series = [found.kept.to_numpy(), found.removed.to_numpy()]
        ax.hist(series, bins=40, stacked=True, color=[KEPT, REMOVED], label=["kept", "removed"])
        ax.set_title(found.title)
        if found.threshold is not None:
            ax.axvline(found.threshold, color=REMOVED, linestyle="--", linewidth=1.2)
            ax.text(
                found.threshold,
                1.0,
                f" {found.threshold:g}",
                color=REMOVED,
                va="top",
                transform=ax.get_xaxis_transform(),
            )
        _told(ax, len(found.kept) + len(found.removed), "no row carries this distance")
    return figure


def plot_roofline(release: Release) -> Figure:
    """Attained GFLOP/s over arithmetic intensity, an axis a device, GPUs first."""
    names = list(dict.fromkeys(times.devices(release)["device"].dropna()))[:2]
    figure, axes = _axes(max(len(names), 1), height=3.6)
    _told(axes[0], len(names), "no row carries a measured time")
    for ax, name in zip(axes, names, strict=False):
        lines = times.roofline(release, name)
        for mode, colour in (("eager", KEPT), ("inductor", SECOND)):
            part = lines[lines["mode"] == mode]
            ax.scatter(part["intensity"], part["gflops"], s=12, color=colour, alpha=0.6, label=mode)
        roof = times.roof_of(name)
        if roof is not None and len(lines):
            x = np.geomspace(lines["intensity"].min(), lines["intensity"].max(), 60)
            ax.plot(x, np.minimum(roof.gflops, roof.bandwidth * x), color=QUIET, linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel="flop per byte", ylabel="GFLOP/s", title=name)
        if _told(ax, len(lines), "no time has flops and an intensity"):
            ax.legend(frameon=False)
    return figure


def plot_speedups_and_spread(release: Release) -> Figure:
    """TorchInductor against eager, and how much repeated runs of one time differ."""
    figure, axes = _axes(2)
    pairs, spread = times.speedups(release), times.spread(release)
    axes[0].scatter(pairs["eager_ms"], pairs["inductor_ms"], s=14, color=KEPT, alpha=0.7)
    axes[0].set(
        xlabel="eager, ms",
        ylabel="TorchInductor, ms",
        title="below the line, TorchInductor is faster",
    )
    if _told(axes[0], len(pairs), "no shape has both times"):
        ends = [
            pairs[["eager_ms", "inductor_ms"]].min().min(),
            pairs[["eager_ms", "inductor_ms"]].max().max(),
        ]
        axes[0].plot(ends, ends, color=QUIET, linewidth=1)
        axes[0].set(xscale="log", yscale="log")
    axes[1].hist(spread.clip(upper=1.0), bins=40, color=KEPT)
    axes[1].set(xlabel="(greatest - least) / median", title="spread of repeated runs")
    _told(axes[1], len(spread), "no time carries its repeated runs")
    return figure


def plot_shapes(release: Release) -> Figure:
    """Shapes a problem, and the working sets of all shapes."""
    figure, axes = _axes(2)
    _bars(axes[0], contents.shape_counts(release), "shapes a problem")
    sets = release.shapes["working_set"].dropna().astype(float)
    sets = sets[sets > 0]
    if _told(axes[1], len(sets), "no shape tells its working set"):
        edges = np.geomspace(sets.min(), sets.max() * 1.001, 40)
        axes[1].hist(sets, bins=edges.tolist(), color=KEPT)
        axes[1].set(xscale="log", xlabel="byte", title="working sets")
    return figure


def _axes(count: int, height: float = 3.1) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(11, height), layout="constrained")
    axes = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(LINE)
        ax.tick_params(colors=QUIET, length=0, labelsize=9)
        ax.title.set_fontsize(10)
    return figure, axes


def _bars(ax: Axes, counts: pd.DataFrame, title: str) -> None:
    lines = counts[::-1]
    bars = ax.barh(lines.iloc[:, 0].astype(str), lines["problems"], color=KEPT, height=0.55)
    ax.bar_label(bars, fmt="{:,.0f}", padding=3, color=QUIET, fontsize=8)
    ax.xaxis.set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.set_title(title, loc="left")
    _told(ax, len(lines), "not in this release")


def _told(ax: Axes, count: int, absent: str) -> bool:
    """Whether there is anything to draw; if not, the plot says what is absent."""
    if not count:
        ax.text(0.5, 0.5, absent, ha="center", color=QUIET, transform=ax.transAxes)
        ax.set(xticks=[], yticks=[])
    return bool(count)
