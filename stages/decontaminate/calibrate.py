"""How well do the tiers work, and which L2 suits an embedder? Measured on planted copies.

Every problem of a benchmark is edited in many ways; each copy should be found. Other programs
should not be: ordinary ones, and ordinary ones in a benchmark problem's scaffolding. An ordinary
program that has the form or the traced computation of a problem is a copy, whoever wrote it: such
are put aside and listed, for a person to read, and are no measure of false removals.

Nothing is remembered but numbers and names: no benchmark code leaves the checkout.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stages.decontaminate.embedders import Embedder
from stages.decontaminate.features import features_of
from stages.decontaminate.fingerprint import Problem, Traced
from stages.decontaminate.index import BenchmarkIndex, Features, Nearest
from stages.decontaminate.planted import ALWAYS_CAUGHT, CHAINS, EDITS, NothingToEdit, planted
from stages.decontaminate.planted.scaffold import in_scaffolding_of
from stages.decontaminate.settings import TIERS, Tier
from stages.decontaminate.verdict import hits_of

NEGATIVE = "ordinary"
SCAFFOLD = "scaffold"
NEGATIVES = (NEGATIVE, SCAFFOLD)
PARAPHRASE = "paraphrase"
EQUAL_TIERS: frozenset[Tier] = frozenset(["same_canonical", "same_shape_blind", "same_graph"])
THRESHOLDS = tuple(step / 100 for step in range(10, 81, 5))
UNREADABLE = (SyntaxError, ValueError, RecursionError)
LEAST_RECALL = 0.98
MOST_FALSE = 0.01

Trace = Callable[[str], Traced]
Paraphrase = Callable[[str], str | None]


@dataclass(frozen=True)
class Trial:
    """One program put to the tiers: a planted copy, or another program (kinds: `NEGATIVES`)."""

    name: str
    kind: str
    nearest: Nearest
    traced: bool

    def tiers(self, jaccard: float, l2: float) -> set[Tier]:
        """The tiers that would remove it at these thresholds."""
        return {hit.tier for hit in hits_of(self.nearest, jaccard, l2)}

    @property
    def is_copy(self) -> bool:
        """Whether a tier that knows no threshold says that it is a copy."""
        return bool(self.tiers(jaccard=1.0, l2=0.0) & EQUAL_TIERS)

    def as_row(self, jaccard: float, l2: float) -> dict[str, Any]:
        """All its numbers, and what removes it, for a table."""
        found = self.tiers(jaccard, l2)
        by = " ".join(tier for tier in TIERS if tier in found)
        head = {"kind": self.kind, "name": self.name, "removed_by": by, "traced": self.traced}
        return {**head, **asdict(self.nearest)}


@dataclass(frozen=True)
class Calibration:
    """All trials; every table below follows from them without recomputing."""

    trials: Sequence[Trial]

    @property
    def copies(self) -> list[Trial]:
        """The planted copies."""
        return [trial for trial in self.trials if trial.kind not in NEGATIVES]

    @property
    def negatives(self) -> list[Trial]:
        """The programs that must stay."""
        return [t for t in self.trials if t.kind in NEGATIVES and not t.is_copy]

    @property
    def set_aside(self) -> list[Trial]:
        """Ordinary programs that turn out to be copies of a problem: no measure of anything."""
        return [t for t in self.trials if t.kind in NEGATIVES and t.is_copy]

    def recall(self, jaccard: float, l2: float) -> list[dict[str, Any]]:
        """Per kind of edit: copies, and the share found by each tier, by all, and without traces."""
        kinds = dict.fromkeys(trial.kind for trial in self.copies)
        rows = [_row(k, [t for t in self.copies if t.kind == k], jaccard, l2) for k in kinds]
        return [*rows, _row("all edits", self.copies, jaccard, l2)]

    def false_removals(self, jaccard: float, l2: float) -> list[dict[str, Any]]:
        """Per kind of negative: programs, and the share that each tier would remove."""
        kinds = dict.fromkeys(trial.kind for trial in self.negatives)
        rows = [_row(k, [t for t in self.negatives if t.kind == k], jaccard, l2) for k in kinds]
        return [*rows, _row("all negatives", self.negatives, jaccard, l2)]

    def missed(self, jaccard: float, l2: float) -> list[Trial]:
        """The planted copies that no tier finds."""
        return [trial for trial in self.copies if not trial.tiers(jaccard, l2)]

    def removed(self, jaccard: float, l2: float) -> list[Trial]:
        """The negatives that some tier would remove, the most similar first: to be read."""
        found = [trial for trial in self.negatives if trial.tiers(jaccard, l2)]
        return sorted(found, key=lambda trial: (trial.nearest.l2, -trial.nearest.jaccard))

    def curve(self, thresholds: Iterable[float]) -> list[dict[str, float]]:
        """What the embedding tier alone would do at each L2: recall and false removals."""
        copies = [t.nearest.l2 for t in self.copies if t.kind != "verbatim"]
        others = [t.nearest.l2 for t in self.negatives]
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
        others = [trial.nearest.l2 for trial in self.negatives]
        steps = (step / 100 for step in range(200, -1, -1))
        return next(s for s in steps if s == 0 or _share(v < s for v in others) <= share)

    def l2_for_recall(self, share: float) -> float | None:
        """The smallest L2, in steps of 0.01, at which the embedding tier alone finds `share`.

        Of the edited copies; a copy that is equal after canonicalisation is found at any. None if
        no distance does it.
        """
        copies = [t.nearest.l2 for t in self.copies if t.kind != "verbatim"]
        steps = (step / 100 for step in range(201))
        return next((s for s in steps if _share(v < s for v in copies) >= share), None)

    def targets(self, jaccard: float, l2: float) -> list[tuple[str, bool]]:
        """What is promised, and whether these trials bear it out."""
        recall = {row["kind"]: row["any"] for row in self.recall(jaccard, l2)}
        cosmetic = [recall[kind] for kind in ALWAYS_CAUGHT if kind in recall]
        false = self.false_removals(jaccard, l2)[-1]["any"]
        return [
            (f"every copy by {', '.join(ALWAYS_CAUGHT)} is found", set(cosmetic) == {1.0}),
            (f"of all copies at least {LEAST_RECALL:.0%} are found",
             recall["all edits"] >= LEAST_RECALL),
            (f"of {len(self.negatives)} hard negatives at most {MOST_FALSE:.0%} are removed",
             false <= MOST_FALSE),
        ]  # fmt: skip


def plant_and_try(
    problems: Sequence[Problem],
    others: Mapping[str, str],
    embedder: Embedder,
    trace: Trace | None = None,
    kinds: Sequence[str] = (*EDITS, *CHAINS),
    every: int = 1,
    paraphrase: Paraphrase | None = None,
) -> Iterator[Trial]:
    """Trials of every n-th problem by every kind of edit that applies, then of the others.

    All are compared with all problems. Without `trace` the graph tier finds nothing.

    Args:
        problems: the benchmark.
        others: ordinary programs, by name. Those that are no copies are tried a second time, each
            in the scaffolding of one problem.
        embedder: whose threshold is looked for.
        trace: what a program computes.
        kinds: of edits.
        every: take only every n-th problem.
        paraphrase: a copy by a language model, or None where it gave none.
    """
    chosen = problems[::every]
    index = BenchmarkIndex(
        {f"{p.level}/{p.number}": _features(p.code, embedder, trace)[0] for p in problems}
    )
    for problem in chosen:
        name = f"{problem.level}/{problem.number}"
        for kind, code in _copies(problem.code, kinds, paraphrase):
            features, traced = _features(code, embedder, trace)
            yield Trial(name, kind, index.nearest(features), traced)
    innocent = []
    for name, code in others.items():
        try:
            features, traced = _features(code, embedder, trace)
        except UNREADABLE:
            continue  # no program; the pipeline would not let it get here
        trial = Trial(name, NEGATIVE, index.nearest(features), traced)
        if not trial.is_copy:
            innocent.append((name, code))
        yield trial
    # Not traced: a program doesn't fit another one's inputs, and its own graph was tried above.
    for problem, (name, code) in zip(chosen, _over_and_over(innocent), strict=False):
        features, _ = _features(in_scaffolding_of(problem.code, code), embedder, None)
        dressed = f"{name} in {problem.level}/{problem.number}"
        yield Trial(dressed, SCAFFOLD, index.nearest(features), traced=False)


def _copies(
    code: str, kinds: Sequence[str], paraphrase: Paraphrase | None
) -> Iterator[tuple[str, str]]:
    for kind in kinds:
        try:
            yield kind, planted(code, kind)
        except NothingToEdit:
            continue
    rewritten = paraphrase(code) if paraphrase else None
    if rewritten is not None:
        yield PARAPHRASE, rewritten


def _over_and_over(programs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    while programs:
        yield from programs


def _features(code: str, embedder: Embedder, trace: Trace | None) -> tuple[Features, bool]:
    traced = trace(code) if trace else Traced()
    graph = traced.graph_sha256 or ""
    ops = frozenset(item["op"] for item in traced.ops or ())
    return features_of(code, embedder, graph_sha256=graph, ops=ops), bool(graph)


def _row(name: str, trials: Sequence[Trial], jaccard: float, l2: float) -> dict[str, Any]:
    found = [trial.tiers(jaccard, l2) for trial in trials]
    row: dict[str, Any] = {"kind": name, "programs": len(found)}
    row |= {tier: _share(tier in tiers for tiers in found) for tier in TIERS}
    row["paper"] = _share(bool(tiers & {"token_jaccard", "embedding"}) for tiers in found)
    row["text"] = _share(bool(tiers - {"same_graph"}) for tiers in found)
    row["any"] = _share(bool(tiers) for tiers in found)
    return row


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values) if values else float("nan")
