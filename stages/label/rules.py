"""The rule judge: a decision table over traced facts. Its rows are told in README.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.stage import Failed, Kept, Outcome
from stages.label.facts import Facts, facts_of

JUDGE = "rules-v1"
"""Bump with any change of the table: labels of two versions must be told apart."""


@dataclass(frozen=True)
class Rule:
    """A row of the table: if it holds and none above it does, this is the level."""

    level: str
    reason: str
    holds: Callable[[Facts], bool]


REUSE = 3.0  # operations per byte: below, a product reads about as much as it computes
RICH = 20.0  # above, several products in a row are worth planning together
UNROLLED = 40  # elementwise operations: more are a loop over steps

TABLE = (
    Rule("L5", "attention", lambda f: f.attention > 0),
    Rule("L5", "a softmax among batched products", lambda f: f.batched >= 2 and f.softmaxes > 0),
    Rule("L5", "products on parts that the data select",
         lambda f: f.products >= 3 and f.sorts + f.dynamic > 0),
    Rule("L5", "products with gathers and scatters in several stages",
         lambda f: f.products >= 2 and f.gathers + f.scatters >= 6),
    Rule("L5", "a scan among products", lambda f: f.products > 0 and f.scans > 0),
    Rule("L5", "a product, then reductions in turn",
         lambda f: f.products > 0 and f.reductions >= 8 and f.convolutions == 0),
    Rule("L5", "choices at every step of a long loop", lambda f: f.choices >= 100),
    Rule("L5", "a factorisation", lambda f: f.solvers > 0),
    Rule("L4", "a recurrent layer", lambda f: f.cells > 0),
    Rule("L4", "many products", lambda f: f.products >= 12),
    Rule("L4", "several products that reuse their data",
         lambda f: f.products >= 4 and f.intensity >= RICH),
    Rule("L4", "products with norms or reductions between",
         lambda f: f.products >= 2 and f.row_steps > 0 and f.intensity >= REUSE),
    Rule("L4", "a convolution and a norm over its planes",
         lambda f: f.convolutions > 0 and f.norms > 0),
    Rule("L4", "a product whose rows go through a softmax",
         lambda f: f.dense + f.batched > 0 and f.convolutions == 0 and f.softmaxes > 0),
    Rule("L4", "unpacking inside a product", lambda f: f.products + f.packed > 1 and f.packed > 0),
    Rule("L4", "a product of irregular reads",
         lambda f: f.products > 0 and f.patches + f.sorts + f.transforms > 0),
    Rule("L4", "a product of irregular reads",
         lambda f: f.products > 0 and f.gathers > 0 and f.intensity >= REUSE),
    Rule("L4", "several transforms", lambda f: f.transforms >= 2),
    Rule("L4", "many gathers or reductions with shared data",
         lambda f: f.gathers + f.scatters >= 4 or f.reductions >= 20),
    Rule("L4", "a long loop of elementwise steps", lambda f: f.pointwise >= 10 * UNROLLED),
    Rule("L2", "small products that reuse nothing",
         lambda f: 0 < f.products <= 2 and f.intensity < REUSE
         and f.row_steps + f.gathers + f.scatters + f.windows + f.sorts == 0),
    Rule("L3", "a product with its epilogue", lambda f: f.products > 0),
    Rule("L3", "a sort, scan or transform", lambda f: f.sorts + f.scans + f.transforms > 0),
    Rule("L3", "reads or writes at places that the data choose",
         lambda f: f.scatters + f.patches + f.dynamic > 0 or f.gathers >= 3),
    Rule("L3", "a loop of elementwise steps", lambda f: f.pointwise >= UNROLLED),
    Rule("L3", "several reductions", lambda f: f.row_steps >= 5),
    Rule("L3", "a window among reductions", lambda f: f.windows > 0 and f.row_steps >= 2),
    Rule("L1", "an elementwise chain and its total",
         lambda f: f.totals == f.row_steps == 1 and f.gathers == 0),
    Rule("L2", "a reduction with its epilogue", lambda f: f.row_steps > 0),
    Rule("L2", "a small window or look-up", lambda f: f.windows + f.gathers > 0),
    Rule("L2", "neighbours combined", lambda f: f.layout >= 2 and f.pointwise >= 4),
    Rule("L1", "a chain of elementwise operations", lambda f: f.pointwise + f.layout >= 3),
    Rule("L0", "one or two elementwise operations", lambda f: True),
)  # fmt: skip


def judge_by_rules(row: Mapping[str, Any]) -> Outcome:
    """The level of one row."""
    if not row.get("ops"):
        return Failed("no_facts", "the row has no traced operations")
    facts = facts_of(row)
    rule = next(rule for rule in TABLE if rule.holds(facts))
    return Kept({"level": rule.level, "judge": JUDGE, "agreement": 1.0, "rationale": rule.reason})
