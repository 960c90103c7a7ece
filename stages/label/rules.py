"""The rule judge: a decision table over traced facts. README.md shows it; a test keeps them equal."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
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
    when: str  # an expression in the names of `Facts`

    def holds(self, facts: Facts) -> bool:
        return bool(eval(self._compiled, {"__builtins__": {}}, facts.names))

    @cached_property
    def _compiled(self) -> CodeType:
        return compile(self.when, self.reason, "eval")


# Thresholds were set on the calibration half of the hand-labelled problems. An intensity below 3
# is a product that reads about as much as it computes; above 20, several in a row are worth
# planning together. 40 elementwise operations are no longer written out by hand: it is a loop.
TABLE = (
    Rule("L5", "attention", "attention > 0"),
    Rule("L5", "a softmax among batched products", "batched >= 2 and softmaxes > 0"),
    Rule("L5", "products on parts that the data select", "products >= 3 and sorts + dynamic > 0"),
    Rule("L5", "products with gathers and scatters in several stages",
         "products >= 2 and gathers + scatters >= 6"),
    Rule("L5", "a scan among products", "products > 0 and scans > 0"),
    Rule("L5", "a product, then reductions in turn",
         "products > 0 and reductions >= 8 and convolutions == 0"),
    Rule("L5", "choices at every step of a long loop", "choices >= 100"),
    Rule("L5", "a factorisation", "solvers > 0"),
    Rule("L4", "a recurrent layer", "cells > 0"),
    Rule("L4", "many products", "products >= 12"),
    Rule("L4", "several products that reuse their data", "products >= 4 and intensity >= 20"),
    Rule("L4", "products with norms or reductions between",
         "products >= 2 and row_steps > 0 and intensity >= 3"),
    Rule("L4", "a convolution and a norm over its planes", "convolutions > 0 and norms > 0"),
    Rule("L4", "a product whose rows go through a softmax",
         "dense + batched > 0 and convolutions == 0 and softmaxes > 0"),
    Rule("L4", "unpacking inside a product", "packed > 0 and products + packed > 1"),
    Rule("L4", "a product with a sort, a transform or patches",
         "products > 0 and sorts + transforms + patches > 0"),
    Rule("L4", "a product of gathered parts", "products > 0 and gathers > 0 and intensity >= 3"),
    Rule("L4", "several transforms", "transforms >= 2"),
    Rule("L4", "irregular reads together with writes",
         "scatters > 0 and gathers + scatters >= 4"),
    Rule("L4", "many gathers or reductions with shared data", "gathers >= 8 or reductions >= 20"),
    Rule("L4", "a long loop of elementwise steps", "pointwise >= 400"),
    Rule("L2", "small products that reuse nothing",
         "0 < products <= 2 and intensity < 3 "
         "and row_steps + gathers + scatters + windows + sorts == 0"),
    Rule("L3", "a product with its epilogue", "products > 0"),
    Rule("L3", "a sort, scan or transform", "sorts + scans + transforms > 0"),
    Rule("L3", "reads or writes at places that the data choose",
         "scatters + patches + dynamic > 0 or gathers >= 3"),
    Rule("L3", "a loop of elementwise steps", "pointwise >= 40"),
    Rule("L3", "several reductions", "row_steps >= 5"),
    Rule("L3", "a window among reductions", "windows > 0 and row_steps >= 2"),
    Rule("L1", "an elementwise chain and its total", "totals == 1 and row_steps == 1 and gathers == 0"),
    Rule("L2", "a reduction with its epilogue", "row_steps > 0"),
    Rule("L2", "a small window or look-up", "windows + gathers > 0"),
    Rule("L2", "neighbours combined", "layout >= 2 and pointwise >= 4"),
    Rule("L1", "a chain of elementwise operations", "pointwise + layout >= 3"),
    Rule("L0", "one or two elementwise operations", "True"),
)  # fmt: skip


def judge_by_rules(row: Mapping[str, Any]) -> Outcome:
    """The level of one row."""
    if not row.get("ops"):
        return Failed("no_facts", "the row has no traced operations")
    facts = facts_of(row)
    rule = next(rule for rule in TABLE if rule.holds(facts))
    return Kept({"level": rule.level, "judge": JUDGE, "agreement": 1.0, "rationale": rule.reason})
