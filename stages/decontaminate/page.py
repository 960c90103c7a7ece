"""The audit as one self-contained HTML page."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from stages.decontaminate.audit import Audit, Audited
from stages.decontaminate.verdict import Hit

MOST_HITS = 500  # shown in full; a page of thousands of diffs opens nowhere


def audit_page(audit: Audit, texts: Mapping[str, str]) -> str:
    """HTML with the verdict, a table of hits and, where we have both texts, their difference.

    Args:
        audit: what was found.
        texts: benchmark programs that the user has, by name.
    """
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    found = audit.contaminated()
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape(default=True)
    )
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        verdict=audit.verdict().split("\n"),
        found=[_shown(program, hits, texts) for program, hits in found[:MOST_HITS]],
        left_out=max(0, len(found) - MOST_HITS),
        failed=audit.failed()[:MOST_HITS],
    )


def _shown(program: Audited, hits: list[Hit], texts: Mapping[str, str]) -> dict[str, object]:
    problem = hits[0].problem
    return {
        "name": program.name,
        "hits": [str(hit) for hit in hits],
        "problem": problem,
        "nearest": program.nearest,
        "rows": _side_by_side(program.code, texts[problem]) if problem in texts else None,
        "code": program.code,
    }


def _side_by_side(left: str, right: str) -> list[tuple[str, str, str]]:
    """(kind, left, right) of each line, kinds: same, changed, left, right. Text is escaped later."""
    one, other = left.splitlines(), right.splitlines()
    rows = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        lines, opposite = one[a:b], other[c:d]
        for place in range(max(len(lines), len(opposite))):
            here = lines[place] if place < len(lines) else ""
            there = opposite[place] if place < len(opposite) else ""
            kind = {"equal": "same", "replace": "changed", "delete": "left", "insert": "right"}[tag]
            rows.append((kind, here, there))
    return rows
