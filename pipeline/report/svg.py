"""Charts as SVG text: no library, no script, colours from the page's style sheet.

A chart is drawn in a box of 440 x 262 units and scales with its column. Marks carry the classes
`kept`, `removed`, `first`, `second`; what a mark stands for is in its <title>.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 440, 262
LEFT, RIGHT, TOP, BOTTOM = 54, 428, 24, 220
FEW = 400  # so few dots may be nearly opaque
GRID = 0.5  # dots are placed on a grid this fine, so that thousands share a place and the page stays small


@dataclass(frozen=True)
class Scale:
    """From a value to a place on the page, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (
            map(math.log10, (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        return decades(self.low, self.high) if self.log else nice_ticks(self.low, self.high)


@dataclass(frozen=True)
class Bars:
    """A series of a histogram."""

    name: str
    style: str
    values: Sequence[float]


@dataclass(frozen=True)
class Dots:
    """A series of a scatter plot: (x, y), both positive."""

    name: str
    style: str
    points: Sequence[tuple[float, float]]


def histogram(
    series: Sequence[Bars],
    axis: str,
    low: float,
    high: float,
    mark: tuple[float, str] | None = None,
    bins: int = 44,
    log: bool = False,
    tell: Callable[[float], str] = lambda value: f"{value:g}",
) -> Markup:
    """Counts of values between low and high, series stacked; values outside join the edge bins.

    Args:
        mark: a vertical line at a value, with its label.
        log: bins of equal ratio instead of equal width.
        tell: how a tick's value is written.
    """
    x = Scale(low, high, LEFT, RIGHT, log)
    edges = [_unscale(x, LEFT + (RIGHT - LEFT) * i / bins) for i in range(bins + 1)]
    counts = [_binned(bars.values, x, bins) for bars in series]
    highest = max((sum(column) for column in zip(*counts, strict=True)), default=0) or 1
    y = Scale(0, highest, BOTTOM, TOP)
    parts = [_grid(y, lambda value: f"{value:,.0f}", whole=True), _ticks(x, tell), _label(axis)]
    width = (RIGHT - LEFT) / bins
    for place in range(bins):
        base = 0
        for bars, found in zip(series, counts, strict=True):
            if not (count := found[place]):
                continue
            top = y(base + count)
            about = f"{bars.name}: {count:,} from {tell(edges[place])} to {tell(edges[place + 1])}"
            parts.append(
                f'<rect class="{bars.style}" x="{LEFT + place * width + 0.5:.1f}" y="{top:.1f}" '
                f'width="{width - 1:.1f}" height="{y(base) - top:.1f}"><title>{escape(about)}</title></rect>'
            )
            base += count
    if mark is not None:
        parts.append(_mark(x(min(max(mark[0], low), high)), mark[1]))
    return _chart(parts, f"{axis}: histogram of {sum(len(b.values) for b in series):,} values")


def scatter(
    series: Sequence[Dots],
    across: str,
    up: str,
    roof: tuple[float, float] | None = None,
    diagonal: bool = False,
) -> Markup:
    """Points on two logarithmic axes.

    Args:
        roof: (highest y, y per x): the lines y = highest and y = slope * x, the lower of both.
        diagonal: the line y = x.
    """
    points = [point for dots in series for point in dots.points]
    xs, ys = [p[0] for p in points] or [1.0], [p[1] for p in points] or [1.0]
    if roof:
        xs, ys = [*xs, roof[0] / roof[1]], [*ys, roof[0]]
    if diagonal:
        xs = ys = [*xs, *ys]
    x = Scale(*decades_around(xs), LEFT, RIGHT, log=True)
    y = Scale(*decades_around(ys), BOTTOM, TOP, log=True)
    parts = [_grid(y, short), _ticks(x, short), _label(across), _up_label(up)]
    if roof:
        parts.append(_roof(x, y, *roof))
    if diagonal:
        parts.append(
            f'<path class="line" d="M{x(x.low):.1f} {y(x.low):.1f}L{x(x.high):.1f} {y(x.high):.1f}"/>'
        )
    parts.extend(_dots(dots, x, y) for dots in series)
    return _chart(parts, f"{up} over {across}: {len(points):,} points")


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` round numbers between low and high."""
    raw = (high - low) / most or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + i) * step, 10) for i in range(count)]


def decades(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten between low and high, every n-th if there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    return [10.0**power for power in range(first, last + 1, step)]


def decades_around(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around positive values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def short(value: float, unit: str = "") -> str:
    """1500000 is 1.5M, with a unit 1.5 MB; small numbers keep three digits."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        if abs(value) >= size:
            return f"{value / size:.3g}{' ' if unit else ''}{prefix}{unit}"
    return f"{value:.3g}{' ' if unit else ''}{unit}"


def _binned(values: Sequence[float], x: Scale, bins: int) -> list[int]:
    counts = [0] * bins
    for value in values:
        if x.log and value <= 0:
            value = x.low
        place = int((x(value) - LEFT) / (RIGHT - LEFT) * bins)
        counts[min(max(place, 0), bins - 1)] += 1
    return counts


def _unscale(x: Scale, place: float) -> float:
    share = (place - x.start) / (x.end - x.start)
    if x.log:
        return float(x.low * (x.high / x.low) ** share)
    return x.low + (x.high - x.low) * share


def _dots(dots: Dots, x: Scale, y: Scale) -> str:
    """All dots as one path of zero-length strokes: thousands cost the browser one element."""
    places = sorted({(round(x(a) / GRID), round(y(b) / GRID)) for a, b in dots.points})
    path = "".join(f"M{a * GRID:g} {b * GRID:g}h0" for a, b in places)
    about = escape(f"{dots.name}: {len(dots.points):,} points")
    style = f"dots {dots.style}{' few' if len(places) < FEW else ''}"
    return f'<path class="{style}" d="{path}"><title>{about}</title></path>'


def _roof(x: Scale, y: Scale, highest: float, slope: float) -> str:
    ridge = highest / slope
    start = max(x.low, y.low / slope)
    path = (
        f"M{x(start):.1f} {y(start * slope):.1f}L{x(ridge):.1f} {y(highest):.1f}"
        f"L{x(x.high):.1f} {y(highest):.1f}"
    )
    return f'<path class="line" d="{path}"/>'


def _grid(y: Scale, tell: Callable[[float], str], whole: bool = False) -> str:
    ticks = [t for t in y.ticks() if not whole or t == int(t)]
    return "".join(
        f'<path class="grid" d="M{LEFT} {y(t):.1f}H{RIGHT}"/>'
        f'<text class="end" x="{LEFT - 6}" y="{y(t) + 4:.1f}">{escape(tell(t))}</text>'
        for t in ticks
    )


def _ticks(x: Scale, tell: Callable[[float], str]) -> str:
    return "".join(
        f'<text class="middle" x="{x(t):.1f}" y="{BOTTOM + 16}">{escape(tell(t))}</text>'
        for t in x.ticks()
    )


def _label(text: str) -> str:
    return (
        f'<text class="middle axis" x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 8}">{escape(text)}</text>'
    )


def _up_label(text: str) -> str:
    middle = (TOP + BOTTOM) / 2
    return (
        f'<text class="middle axis" transform="rotate(-90 10 {middle})" x="10" '
        f'y="{middle}">{escape(text)}</text>'
    )


def _mark(x: float, text: str) -> str:
    """A threshold: a line over the whole height, its label above the bars."""
    return (
        f'<path class="mark" d="M{x:.1f} {TOP - 8}V{BOTTOM}"/>'
        f'<text class="marked middle" x="{x:.1f}" y="{TOP - 13}">{escape(text)}</text>'
    )


def _chart(parts: Sequence[str], about: str) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(about)}">'
        f"{''.join(parts)}</svg>"
    )
