"""How well do the tiers work, and which L2 suits an embedder? Measured on planted copies.

Every problem of a benchmark is edited in many ways; each copy should be found. Ordinary programs
should not be. Nothing is remembered but numbers: no benchmark code leaves the checkout.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.decontaminate.embedders import Embedder
from stages.decontaminate.features import features_of
from stages.decontaminate.fingerprint import Problem, Traced
from stages.decontaminate.index import BenchmarkIndex, Features, Nearest
from stages.decontaminate.planted import CHAINS, EDITS, NothingToEdit, planted
from stages.decontaminate.settings import TIERS, Tier
from stages.decontaminate.verdict import hits_of

NEGATIVE = "negative"
THRESHOLDS = tuple(step / 100 for step in range(10, 81, 5))
UNREADABLE = (SyntaxError, ValueError, RecursionError)
Trace = Callable[[str], Traced]


@dataclass(frozen=True)
class Trial:
    """One program put to the tiers: a planted copy, or an ordinary program (`negative`)."""

    name: str
    kind: str
    nearest: Nearest
    traced: bool

    def tiers(self, jaccard: float, l2: float) -> set[Tier]:
        """The tiers that would remove it at these thresholds."""
        return {hit.tier for hit in hits_of(self.nearest, jaccard, l2)}


@dataclass(frozen=True)
class Calibration:
    """All trials; every table below follows from them without recomputing."""

    trials: Sequence[Trial]

    def recall(self, jaccard: float, l2: float) -> list[dict[str, Any]]:
        """Per kind of edit: copies, and the share found by each tier, by all, and without traces."""
        kinds = dict.fromkeys(trial.kind for trial in self.trials if trial.kind != NEGATIVE)
        rows = [self._row(kind, lambda t, k=kind: t.kind == k, jaccard, l2) for kind in kinds]
        return [*rows, self._row("all edits", lambda t: t.kind != NEGATIVE, jaccard, l2)]

    def false_removals(self, jaccard: float, l2: float) -> dict[str, Any]:
        """The share of ordinary programs that each tier would remove."""
        return self._row(NEGATIVE, lambda t: t.kind == NEGATIVE, jaccard, l2)

    def curve(self, thresholds: Iterable[float]) -> list[dict[str, float]]:
        """What the embedding tier alone would do at each L2: recall and false removals."""
        copies = [t.nearest.l2 for t in self.trials if t.kind not in (NEGATIVE, "verbatim")]
        others = [t.nearest.l2 for t in self.trials if t.kind == NEGATIVE]
        return [
            {
                "l2": threshold,
                "recall": _share(value < threshold for value in copies),
                "false_removals": _share(value < threshold for value in others),
            }
            for threshold in thresholds
        ]

    def l2_for_false_removals(self, share: float) -> float:
        """The largest L2, in steps of 0.01, at which the embedding tier removes at most `share`."""
        others = [t.nearest.l2 for t in self.trials if t.kind == NEGATIVE]
        steps = (step / 100 for step in range(200, -1, -1))
        return next(s for s in steps if s == 0 or _share(v < s for v in others) <= share)

    def _row(
        self, name: str, chosen: Callable[[Trial], bool], jaccard: float, l2: float
    ) -> dict[str, Any]:
        found = [trial.tiers(jaccard, l2) for trial in self.trials if chosen(trial)]
        row: dict[str, Any] = {"kind": name, "programs": len(found)}
        row |= {tier: _share(tier in tiers for tiers in found) for tier in TIERS}
        row["paper"] = _share(bool(tiers & {"token_jaccard", "embedding"}) for tiers in found)
        row["text"] = _share(bool(tiers - {"same_graph"}) for tiers in found)
        row["any"] = _share(bool(tiers) for tiers in found)
        return row


def plant_and_try(
    problems: Sequence[Problem],
    negatives: Mapping[str, str],
    embedder: Embedder,
    trace: Trace | None = None,
    kinds: Sequence[str] = (*EDITS, *CHAINS),
    every: int = 1,
) -> Iterator[Trial]:
    """Trials of every n-th problem by every kind of edit that applies, then of the others.

    All are compared with all problems. Without `trace` the graph tier finds nothing.
    """
    chosen = problems[::every]
    index = BenchmarkIndex(
        {
            f"{p.level}/{p.number}": _features(p.code, embedder, trace if p in chosen else None)[0]
            for p in problems
        }
    )
    for problem in chosen:
        for kind in kinds:
            try:
                code = planted(problem.code, kind)
            except NothingToEdit:
                continue
            features, traced = _features(code, embedder, trace)
            yield Trial(f"{problem.level}/{problem.number}", kind, index.nearest(features), traced)
    for name, code in negatives.items():
        try:
            features, traced = _features(code, embedder, trace)
        except UNREADABLE:
            continue  # no program; the pipeline would not let it get here
        yield Trial(name, NEGATIVE, index.nearest(features), traced)


def _features(code: str, embedder: Embedder, trace: Trace | None) -> tuple[Features, bool]:
    traced = trace(code) if trace else Traced()
    graph = traced.graph_sha256 or ""
    ops = frozenset(item["op"] for item in traced.ops or ())
    return features_of(code, embedder, graph_sha256=graph, ops=ops), bool(graph)


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values) if values else float("nan")
