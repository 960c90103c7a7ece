"""From the nearest problems to a decision. Pure: another threshold needs no recomputing."""

from dataclasses import dataclass

from pipeline.stage import Kept, Outcome, Removed
from stages.decontaminate.index import Nearest
from stages.decontaminate.settings import TIERS, DecontaminateSettings, Tier


@dataclass(frozen=True)
class Hit:
    """One tier that holds for a row."""

    tier: Tier
    problem: str
    metric: str
    value: float
    threshold: float

    def __str__(self) -> str:
        if self.metric == "equal":
            return f"{self.tier} {self.problem}"
        return f"{self.tier} {self.problem} {self.metric} {self.value:.4f}"


def hits_of(nearest: Nearest, jaccard: float, l2: float) -> list[Hit]:
    """Every tier that holds, in the order of `TIERS`."""
    found: dict[Tier, Hit] = {}
    same: tuple[tuple[Tier, str | None], ...] = (
        ("same_canonical", nearest.same_canonical),
        ("same_shape_blind", nearest.same_shape_blind),
        ("same_graph", nearest.same_graph),
    )
    for tier, problem in same:
        if problem is not None:
            found[tier] = Hit(tier, problem, "equal", 1.0, 1.0)
    if nearest.jaccard > jaccard:
        found["token_jaccard"] = Hit(
            "token_jaccard", nearest.jaccard_problem, "jaccard", nearest.jaccard, jaccard
        )
    if nearest.l2 < l2:
        found["embedding"] = Hit("embedding", nearest.l2_problem, "l2", nearest.l2, l2)
    return [found[tier] for tier in TIERS if tier in found]


def verdict(nearest: Nearest, settings: DecontaminateSettings) -> Outcome:
    """Kept with its evidence, or removed for the first tier that holds; the detail has them all."""
    hits = hits_of(nearest, settings.jaccard, settings.l2_threshold)
    deciding = next((hit for hit in hits if hit.tier in settings.remove_by), None)
    if deciding is None:
        return Kept(_evidence(nearest, settings))
    return Removed(
        reason=deciding.tier,
        detail="; ".join([*map(str, hits), _distances(nearest)]),
        matched_id=deciding.problem,
        metric=deciding.metric,
        value=deciding.value,
        threshold=deciding.threshold,
    )


def _evidence(nearest: Nearest, settings: DecontaminateSettings) -> dict[str, object]:
    band = settings.near_miss_band
    return {
        "l2": nearest.l2,
        "cosine": nearest.cosine,
        "l2_problem": nearest.l2_problem,
        "jaccard": nearest.jaccard,
        "jaccard_problem": nearest.jaccard_problem,
        "same_canonical_problem": nearest.same_canonical,
        "same_shape_blind_problem": nearest.same_shape_blind,
        "same_graph_problem": nearest.same_graph,
        "same_ops_problem": nearest.same_ops,
        "near_miss": nearest.jaccard > settings.jaccard - band
        or nearest.l2 < settings.l2_threshold + band,
    }


def _distances(nearest: Nearest) -> str:
    return (
        f"nearest by tokens {nearest.jaccard_problem} jaccard {nearest.jaccard:.4f}, "
        f"by embedding {nearest.l2_problem} l2 {nearest.l2:.4f} cosine {nearest.cosine:.4f}"
    )
