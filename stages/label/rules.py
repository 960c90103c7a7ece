"""The rule judge: a decision table over traced facts. Its rows are told in README.md."""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.stage import Failed, Kept, Outcome
from stages.label.facts import Facts, facts_of

JUDGE = "rules-v1"
"""Bump with any change of the table: labels of two versions must be told apart."""

Rule = tuple[str, str, Callable[[Facts], bool]]

TABLE: tuple[Rule, ...] = (
    ("L5", "attention", lambda f: f.attention > 0),
    ("L5", "products around a softmax: attention spelled out",
     lambda f: f.dense >= 2 and f.norms >= 1 and f.dense + f.norms >= 4),
    ("L5", "recurrence over steps", lambda f: f.cells > 0),
    ("L5", "many stages with data reuse", lambda f: f.products >= 6),
    ("L5", "products routed by data", lambda f: f.products >= 2 and f.sorts + f.dynamic > 0),
    ("L5", "a matrix factorisation", lambda f: f.solvers > 0),
    ("L4", "several products with data reuse", lambda f: f.products >= 2),
    ("L4", "a product fused with a reduction",
     lambda f: f.products == 1 and f.reductions + f.norms > 0),
    ("L4", "a sort, scan or transform with more around it",
     lambda f: f.sorts + f.scans + f.transforms > 0 and f.work >= 4),
    ("L3", "a sort, scan or transform", lambda f: f.sorts + f.scans + f.transforms > 0),
    ("L3", "a product with its epilogue", lambda f: f.products == 1),
    ("L3", "gathers or windows", lambda f: f.gathers + f.windows + f.dynamic > 0),
    ("L3", "several reductions", lambda f: f.reductions + f.norms >= 3),
    ("L2", "a reduction with its epilogue", lambda f: f.reductions + f.norms > 0),
    ("L1", "a chain of elementwise operations", lambda f: f.pointwise + f.layout >= 2),
    ("L0", "at most one elementwise operation", lambda f: True),
)  # fmt: skip
"""The first row that holds decides."""


def judge_by_rules(row: Mapping[str, Any]) -> Outcome:
    """The level of one row."""
    if not row.get("ops"):
        return Failed("no_facts", "the row has no traced operations")
    facts = facts_of(row)
    level, reason = next((level, reason) for level, reason, holds in TABLE if holds(facts))
    return Kept({"level": level, "judge": JUDGE, "agreement": 1.0, "rationale": reason})
