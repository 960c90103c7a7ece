"""What the page's table reads: all rows and the ledger, compressed, with the programs apart.

Two kinds of text, each zlib-compressed JSON in base64, so that nothing crawled can ever be read as
markup:
- the index: one list a column, kept rows first, then the ledger; read when the page opens;
- blocks of `BLOCK` rows with their programs and details; read when a row is opened.
"""

import base64
import json
import math
import zlib
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from pipeline.report.contents import short_op
from pipeline.report.reading import Release
from pipeline.report.times import measured, speedups

BLOCK = 200  # rows: small enough to open at once, large enough to compress well
DETAILS = ("edits", "flags", "rationale", "sizes", "arguments", "inputs")


def index(release: Release) -> str:
    """The columns that the table shows, filters and searches."""
    problems, ledger = release.problems, release.ledger
    kept = {
        "outcome": ["kept"] * len(problems),
        "id": problems["problem_id"],
        "name": problems["class_name"],
        "source": problems["source_name"],
        "path": problems["path"],
        "level": problems["level"],
        "licence": problems["licence"],
        "l2": _rounded(problems["l2"], 4),
        "jaccard": _rounded(problems["jaccard"], 4),
        "l2_problem": problems["l2_problem"],
        "jaccard_problem": problems["jaccard_problem"],
        "eager_ms": _rounded(_best(release, "eager"), 4),
        "speedup": _rounded(_speedup(release), 3),
        "ops": _op_words(release),
        "origin": problems["origin"].str.cat(problems["version"], sep=" "),
        "line": problems["line_start"],
    }
    gone = {
        "outcome": ledger["outcome"],
        "id": ledger["row_id"],
        "name": ledger["name"],
        "source": ledger["source_name"],
        "path": ledger["path"],
        "stage": ledger["stage"],
        "reason": ledger["reason"],
        "detail": ledger["detail"],
        "matched": ledger["matched_id"],
        "metric": ledger["metric"],
        "value": _rounded(ledger["value"], 4),
        "threshold": _rounded(ledger["threshold"], 4),
    }
    names = list(dict.fromkeys([*kept, *gone]))
    columns = {
        name: [
            *_plain(kept.get(name, [None] * len(problems))),
            *_plain(gone.get(name, [None] * len(ledger))),
        ]
        for name in names
    }
    return _packed(columns)


def blocks(release: Release) -> list[str]:
    """Programs and details of the kept rows, `BLOCK` rows a piece."""
    shapes, times = _by_row(_shape_lines(release)), _by_row(_time_lines(release))
    told = release.rows.select(["code", *DETAILS])
    packed = []
    for start in range(0, told.num_rows, BLOCK):
        rows = _rows(told.slice(start, BLOCK))
        for place, row in enumerate(rows, start):
            row["shapes"], row["times"] = shapes.get(place, []), times.get(place, [])
        packed.append(_packed(rows))
    return packed


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _best(release: Release, mode: str) -> pd.Series:
    """The median of a problem's first measured shape, on its first device."""
    times = measured(release)
    first = times[times["mode"] == mode].drop_duplicates("row").set_index("row")["median_ms"]
    return first.reindex(range(release.rows.num_rows))


def _speedup(release: Release) -> pd.Series:
    first = speedups(release).drop_duplicates("row").set_index("row")["speedup"]
    return first.reindex(range(release.rows.num_rows))


def _op_words(release: Release) -> list[str]:
    """The distinct operations of each problem, to search in."""
    words: list[list[str]] = [[] for _ in range(release.rows.num_rows)]
    pairs = zip(release.ops["row"], release.ops["op"], strict=True)
    for row, op in pairs:
        words[row].append(short_op(op))
    return [" ".join(dict.fromkeys(found)) for found in words]


def _shape_lines(release: Release) -> pd.DataFrame:
    shapes = release.shapes
    columns = ["row", "name", "working_set", "flops", "held_out"]
    return shapes[columns]


def _time_lines(release: Release) -> pd.DataFrame:
    names = release.shapes[["row", "shape_id", "name"]].drop_duplicates(["row", "shape_id"])
    times = release.baselines.merge(names, on=["row", "shape_id"], how="left")
    columns = ["row", "name", "device", "mode", "dtype", "status", "median_ms", "relative_range"]
    return times[columns]


def _by_row(lines: pd.DataFrame) -> dict[int, list[list[Any]]]:
    """Lines of a problem, each a list in the order of the columns after `row`."""
    found: dict[int, list[list[Any]]] = {}
    columns = [_plain(lines[name]) for name in lines.columns]
    for row, *values in zip(*columns, strict=True):
        found.setdefault(row, []).append(values)
    return found


def _rounded(values: pd.Series, digits: int) -> pd.Series:
    return values.astype(float).round(digits)


def _plain(values: Iterable[Any]) -> list[Any]:
    """Values that JSON knows; a number that is none is null."""
    listed = values.tolist() if isinstance(values, pd.Series) else list(values)
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in listed]


def _packed(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 6)).decode("ascii")


def _number(value: Any) -> Any:
    """numpy's own numbers as Python's."""
    return value.item()
