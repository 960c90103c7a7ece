"""The dataset card: README.md of a release, with the hub's YAML header."""

from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa

from pipeline.report.distances import METRICS, threshold
from pipeline.report.reading import Release, release_of
from pipeline.stage import History
from schemas.baseline import MEASUREMENT
from schemas.columns import describe
from schemas.ledger import REMOVED
from schemas.problem import RELEASED
from stages.emit.changes import changes
from stages.emit.limits import limits

HUB_LICENCES = {
    "0BSD": "0bsd", "Apache-2.0": "apache-2.0", "BSD-2-Clause": "bsd-2-clause",
    "BSD-3-Clause": "bsd-3-clause", "BSL-1.0": "bsl-1.0", "CC0-1.0": "cc0-1.0", "ISC": "isc",
    "MIT": "mit", "Unlicense": "unlicense", "Zlib": "zlib",
}  # fmt: skip
"""SPDX to the hub's own names; a release with any other is `other`."""


def write_card(table: pa.Table, history: History, folder: Path) -> None:
    release = release_of(table, history)
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML
    ).get_template("card.md.j2")
    text = template.render(
        splits=[s for s in ("train", "validation") if list((folder / "data").glob(f"{s}-*"))],
        rows=table.num_rows,
        size=_size_category(table.num_rows),
        hub_licences=_hub_licences(table),
        recipe=history.recipe["name"],
        funnel=_funnel(history),
        changes=changes(table, history),
        levels=_counts(table, "level"),
        judges=_counts(table, "judge"),
        licences=_counts(table, "licence"),
        sources=_sources(table),
        embedders=_counts(table, "embedder"),
        decontamination=history.recipe["stages"]["decontaminate"],
        thresholds=_thresholds(release),
        fingerprints=_identity(history, "decontaminate"),
        devices=_devices(table),
        columns=_columns(),
        measurement=describe(pa.schema(MEASUREMENT)),
        ledger=describe(REMOVED),
        limits=limits(release),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _columns() -> list[dict[str, str]]:
    """The columns as schemas/ describes them; the fields of a baseline have a table of their own."""
    lines = describe(RELEASED)
    for line in lines:
        if line["column"] == "baselines":
            line["type"] = "list of baseline, see below"
    return lines


def _counts(table: pa.Table, column: str) -> list[tuple[str, int]]:
    return sorted(Counter(table[column].to_pylist()).items())


def _hub_licences(table: pa.Table) -> list[str]:
    """The hub's names of all licences; empty if it has no name for one of them."""
    names = [HUB_LICENCES.get(licence) for licence, _ in _counts(table, "licence")]
    return [] if None in names else [name for name in names if name]


def _sources(table: pa.Table) -> list[tuple[str, str, str, int]]:
    names = ("origin", "version", "licence")
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    return [(*key, count) for key, count in sorted(Counter(rows).items())]


def _devices(table: pa.Table) -> list[tuple[str, str, str, int]]:
    """(device, mode, status) and how many baselines there are of it."""
    found: Counter[tuple[str, str, str]] = Counter()
    for baselines in table["baselines"].to_pylist():
        found.update((b["device"], b["mode"], b["status"]) for b in baselines)
    return [(*key, count) for key, count in sorted(found.items())]


def _funnel(history: History) -> list[dict[str, Any]]:
    return [{"stage": stage["address"]["stage"], **stage["rows"]} for stage in history.stages]


def _thresholds(release: Release) -> list[tuple[str, str]]:
    found = ((metric, threshold(release, metric)) for metric in METRICS)
    return [
        (metric, "the embedder's calibrated value" if value is None else f"{value:g}")
        for metric, value in found
    ]


def _identity(history: History, stage: str) -> list[tuple[str, str]]:
    """What else decided a stage's result, by name and digest."""
    found = [s["address"]["identity"] for s in history.stages if s["address"]["stage"] == stage]
    return sorted(found[0].items()) if found else []


def _size_category(rows: int) -> str:
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if rows < limit:
            return name
    return "100K<n<1M"
