"""Rows in full, for notebooks: facts beside the program, in colours. Everything is escaped."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from pipeline.report.distances import METRICS, Metric, nearest_misses, threshold
from pipeline.report.reading import Release

FACTS = (
    "problem_id", "level", "rationale", "origin", "version", "path", "licence", "l2", "l2_problem",
    "jaccard", "jaccard_problem",
)  # fmt: skip


class Shown(Markup):
    """HTML that a notebook displays."""

    def _repr_html_(self) -> str:
        return str(self)


def three_rows(release: Release) -> Shown:
    """The easiest, the middle and the hardest row, in full."""
    order = release.problems.sort_values(["level", "problem_id"])
    places = sorted({0, len(order) // 2, len(order) - 1}) if len(order) else []
    shown = [in_full(row) for row in order.iloc[places].to_dict("records")]
    return Shown(Markup("").join(shown) or "This release has no rows.")


def in_full(row: Mapping[Any, Any]) -> Shown:
    """One row's facts and its program."""
    told = [(name, row.get(name)) for name in FACTS]
    return Shown(_side_by_side(str(row.get("class_name")), str(row.get("code") or ""), told))


def nearest_side_by_side(release: Release, most: int = 4) -> Shown:
    """The kept rows nearest to a threshold; of the benchmark only the problem's name."""
    limits = {metric: threshold(release, metric) for metric in METRICS}
    shown = [
        _side_by_side(str(row["class_name"]), str(row["code"] or ""), list(_evidence(row, limits)))
        for row in nearest_misses(release, most).to_dict("records")
    ]
    return Shown(Markup("").join(shown) or "No row carries its distance to the benchmark.")


def _evidence(
    row: Mapping[Any, Any], limits: Mapping[Metric, float | None]
) -> Iterator[tuple[str, object]]:
    for metric, limit in limits.items():
        yield f"nearest by {metric}", row[f"{metric}_problem"]
        yield metric, row[metric]
        yield "threshold", "not told" if limit is None else limit
    yield "to spare", f"{row['margin']:.4f} {row['by']}"


def _side_by_side(title: str, code: str, facts: list[tuple[str, object]]) -> Markup:
    lines = Markup("").join(
        Markup("<tr><td style='color:#62676f'>{}</td><td>{}</td></tr>").format(name, _short(value))
        for name, value in facts
        if value is not None and not pd.isna(value)
    )
    return Markup(
        "<details open><summary><b>{}</b></summary><div style='display:flex;flex-wrap:wrap;gap:1.5em'>"
        "<div style='flex:2 1 26em;min-width:0;overflow:auto'>{}</div>"
        "<table style='flex:1 1 16em;align-self:start'>{}</table></div></details>"
    ).format(title, _coloured(code), lines)


def _short(value: object) -> Markup:
    return escape(f"{value:.4f}" if isinstance(value, float) else value)


def _coloured(code: str) -> Markup:
    style = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em;line-height:1.45"
    colours = HtmlFormatter(noclasses=True, nobackground=True, prestyles=style)
    return Markup(highlight(code, PythonLexer(), colours))
