"""The dataset card: README.md of a release, with the hub's YAML header."""

from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa

from pipeline.stage import History
from schemas.columns import describe


def write_card(table: pa.Table, history: History, folder: Path) -> None:
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, not HTML
    ).get_template("card.md.j2")
    splits = [s for s in ("train", "validation") if list((folder / "data").glob(f"{s}-*"))]
    text = template.render(
        splits=splits,
        rows=table.num_rows,
        size=_size_category(table.num_rows),
        recipe=history.recipe["name"],
        funnel=_funnel(history),
        levels=_counts(table, "level"),
        judges=_counts(table, "judge"),
        licences=_counts(table, "licence"),
        sources=_sources(table),
        embedders=_counts(table, "embedder"),
        decontamination=history.recipe["stages"]["decontaminate"],
        sandboxes=_counts(table, "sandbox_level"),
        devices=_devices(table),
        columns=describe(table.schema),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _counts(table: pa.Table, column: str) -> list[tuple[str, int]]:
    return sorted(Counter(table[column].to_pylist()).items())


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


def _size_category(rows: int) -> str:
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if rows < limit:
            return name
    return "100K<n<1M"
