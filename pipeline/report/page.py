"""The report: a release as one self-contained HTML page.

Nothing that was crawled is ever markup: the template escapes what it prints, the table's rows travel
compressed and are shown as text, and the page's own policy lets no script run but the one that is
named by its digest.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from pipeline.files import whole_file
from pipeline.report import charts, contents, distances, payload, times
from pipeline.report.reading import Release

ROOM = Path(__file__).parent
MOST_SOURCES = 60
MOST_MISSES = 8


@dataclass(frozen=True)
class Bar:
    """One line of a list of bars."""

    name: str
    count: int
    share: float  # of the longest bar, 0 to 1


def write_report(release: Release, file: Path) -> None:
    """Writes the page, whole or not at all."""
    with whole_file(file) as partial:
        partial.write_text(report_page(release), encoding="utf-8")


def report_page(release: Release) -> str:
    """The page's HTML. Equal releases give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOM),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = (ROOM / "page.js").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(
        style=Markup((ROOM / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_digest=_digest(script),
        recipe=(release.recipe or {}).get("name"),
        kept=release.rows.num_rows,
        missing=release.missing,
        facts=_facts(release),
        funnel=_records(contents.funnel(release)),
        reasons=_reasons_by_stage(release),
        levels=_bars(contents.levels(release)),
        families=_bars(contents.op_families(release)),
        ops=_bars(contents.ops(release)),
        licences=_bars(contents.licences(release)),
        sources=_records(contents.sources(release)[:MOST_SOURCES]),
        more_sources=max(0, len(contents.sources(release)) - MOST_SOURCES),
        shape_counts=_bars(contents.shape_counts(release)),
        held_out=_held_out(release),
        embedders=sorted(release.problems["embedder"].dropna().unique()),
        distances=charts.distance_charts(release),
        misses=list(_misses(release)),
        devices=_records(times.devices(release)),
        rooflines=charts.roofline_charts(release),
        speedup=charts.speedup_chart(release),
        spread=charts.spread_chart(release),
        working_sets=charts.working_set_chart(release),
        index=Markup(payload.index(release)),
        blocks=[Markup(block) for block in payload.blocks(release)],
        block_size=payload.BLOCK,
    )


def _facts(release: Release) -> list[tuple[str, str]]:
    """The figures at the top: (what, how many)."""
    problems, ledger = release.problems, release.ledger
    near = problems["near_miss"].dropna()
    facts = [
        (
            "removed, with evidence",
            "removed, with evidence",
            int((ledger["outcome"] == "removed").sum()),
        ),
        ("failed, tried again", "failed, tried again", int((ledger["outcome"] == "failed").sum())),
        ("origin", "origins", problems["origin"].nunique()),
        ("licence", "licences", problems["licence"].nunique()),
        ("verified shape", "verified shapes", len(release.shapes)),
        ("measured time", "measured times", len(times.measured(release))),
        ("near miss", "near misses", int(near.astype(bool).sum())),
    ]
    return [(one if count == 1 else many, f"{count:,}") for one, many, count in facts]


def _reasons_by_stage(release: Release) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in _records(contents.reasons(release)):
        found.setdefault(line["stage"], []).append(line)
    return found


def _held_out(release: Release) -> int:
    return int(release.shapes["held_out"].fillna(False).astype(bool).sum())


def _misses(release: Release) -> Iterator[dict[str, Any]]:
    """The nearest misses with their programs; of the benchmark only the problem's name."""
    found = distances.nearest_misses(release, MOST_MISSES)
    limits = {metric: distances.threshold(release, metric) for metric in distances.METRICS}
    for line in _records(found):
        nearest = [
            {
                "metric": metric,
                "problem": line[f"{metric}_problem"],
                "value": line[metric],
                "threshold": limits[metric],
            }
            for metric in distances.METRICS
        ]
        yield line | {"nearest": nearest}


def _bars(counts: pd.DataFrame) -> list[Bar]:
    name, count = counts.columns
    longest = max(counts[count], default=0) or 1
    return [
        Bar(str(n), int(c), int(c) / longest)
        for n, c in zip(counts[name], counts[count], strict=True)
    ]


def _records(lines: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(key): None if pd.isna(value) else value for key, value in record.items()}
        for record in lines.to_dict("records")
    ]


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
