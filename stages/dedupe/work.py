"""The work of the dedupe stage."""

import itertools
import os
from collections import Counter
from collections.abc import Sequence

from pipeline.source.ranking import rank
from pipeline.source.shares import check_shares
from pipeline.spread import spread
from pipeline.stage import Failed, Kept, Outcome, Removed, Row, Workplace
from stages.dedupe.near import KeptRows, sketches
from stages.dedupe.settings import DedupeSettings
from stages.dedupe.text import read_text

_WORTH_PROCESSES = 2000  # rows; fewer are read before other processes have started


def dedupe(rows: Sequence[Row], settings: DedupeSettings, workplace: Workplace) -> list[Outcome]:
    """One outcome per row. The kept rows' `copies` add up to the rows that were compared."""
    verdicts = _verdicts(_representatives(rows), settings)
    firsts = {id(row) for row in _representatives(rows)}
    outcomes = [_outcome(row, verdicts[row["problem_id"]], id(row) in firsts) for row in rows]
    check_shares(
        rows,
        outcomes,
        stage="dedupe",
        reason="near_copy",
        most=settings.max_share_of_source,
        from_rows=settings.guard_from_rows,
    )
    return _with_copies(rows, outcomes)


def _representatives(rows: Sequence[Row]) -> list[Row]:
    """The most wanted row of each problem_id, in the order in which rows are wanted."""
    seen = Counter(row["problem_id"] for row in rows)
    ordered = sorted(rows, key=lambda row: rank(row, seen[row["problem_id"]]))
    first: dict[str, Row] = {}
    for row in ordered:
        first.setdefault(row["problem_id"], row)
    return list(first.values())


def _verdicts(rows: Sequence[Row], settings: DedupeSettings) -> dict[str, Outcome]:
    """What becomes of each problem_id, visiting the most wanted first."""
    verdicts: dict[str, Outcome] = {}
    kept = KeptRows(settings.jaccard, settings.candidate_threshold)
    kept_forms: dict[str, str] = {}
    processes = len(os.sched_getaffinity(0)) if len(rows) >= _WORTH_PROCESSES else 1
    read = spread(read_text, (row["code"] for row in rows), processes=processes)
    texts, again = itertools.tee(read)
    sketched = sketches(text.tokens for text in again)
    for row, text, sketch in zip(rows, texts, sketched, strict=True):
        name = row["problem_id"]
        if text.trouble:
            verdicts[name] = Failed("unreadable_code", text.trouble)
        elif text.form in kept_forms:
            verdicts[name] = _same("shape_blind_copy", "shape_blind_equal", kept_forms[text.form])
        elif neighbour := kept.nearest(text.tokens, sketch):
            verdicts[name] = _near(*neighbour, settings.jaccard)
        else:
            verdicts[name] = Kept({})
            kept_forms[text.form] = name
            kept.add(name, text.tokens, sketch)
    return verdicts


def _outcome(row: Row, verdict: Outcome, first: bool) -> Outcome:
    """A further row of a kept problem is its exact copy; otherwise it shares its twin's fate."""
    if first or not isinstance(verdict, Kept):
        return verdict
    return _same("exact_copy", "canonical_equal", row["problem_id"])


def _same(reason: str, metric: str, matched_id: str) -> Removed:
    return Removed(
        reason, f"{metric} with {matched_id}", matched_id, metric, value=1.0, threshold=1.0
    )


def _near(matched_id: str, value: float, threshold: float) -> Removed:
    detail = f"token-set Jaccard {value:.3f} with {matched_id}"
    return Removed("near_copy", detail, matched_id, "jaccard", value, threshold)


def _with_copies(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> list[Outcome]:
    stands_for: Counter[str] = Counter()
    for row, outcome in zip(rows, outcomes, strict=True):
        if isinstance(outcome, Kept):
            stands_for[row["problem_id"]] += 1
        elif isinstance(outcome, Removed) and outcome.matched_id:
            stands_for[outcome.matched_id] += 1
    return [
        Kept({"copies": stands_for[row["problem_id"]]}) if isinstance(outcome, Kept) else outcome
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
