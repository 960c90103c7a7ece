"""How near the rows are to the held-out benchmark, and where the thresholds stand."""

import math
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from pipeline.report.reading import Release

Metric = Literal["l2", "jaccard"]
METRICS: tuple[Metric, ...] = ("l2", "jaccard")
TITLES = {
    "l2": "L2 distance of embeddings to the nearest benchmark problem",
    "jaccard": "Token-set Jaccard with the nearest benchmark problem",
}


@dataclass(frozen=True)
class Distances:
    """One metric over all rows whose distance is known."""

    metric: Metric
    kept: pd.Series  # of kept rows
    removed: pd.Series  # of the rows that this metric removed
    threshold: float | None  # None where the release does not tell it

    @property
    def title(self) -> str:
        return TITLES[self.metric]

    @property
    def nearer(self) -> str:
        """On which side of the threshold a row goes."""
        return "below" if self.metric == "l2" else "above"

    @property
    def nearest(self) -> float:
        """Of the kept rows, the distance nearest to the benchmark; NaN without rows."""
        return float(self.kept.min() if self.metric == "l2" else self.kept.max())


def distances(release: Release, metric: Metric) -> Distances:
    return Distances(
        metric,
        release.problems[metric].dropna().astype(float),
        _removed_by(release, metric)["value"].dropna().astype(float),
        threshold(release, metric),
    )


def threshold(release: Release, metric: Metric) -> float | None:
    """The threshold that decided: what the recipe says, or what a removed row was compared with.

    A recipe may leave `l2` to the embedder's calibrated value; then only the ledger tells it.
    """
    said = release.settings("decontaminate").get(metric)
    if isinstance(said, int | float):
        return float(said)
    used = _removed_by(release, metric)["threshold"].dropna().unique()
    return float(used[0]) if len(used) == 1 else None


def nearest_misses(release: Release, most: int = 12) -> pd.DataFrame:
    """The kept rows nearest to a threshold, the nearest first.

    Returns:
        Columns of `problems` and `margin`, the distance to the nearer of the two thresholds in that
        metric's own unit; without a known threshold, the distance to the benchmark itself.
    """
    problems = release.problems
    l2, jaccard = threshold(release, "l2"), threshold(release, "jaccard")
    margins = pd.DataFrame(
        {
            "l2": problems["l2"].astype(float) - (l2 or 0.0),
            "jaccard": (1.0 if jaccard is None else jaccard) - problems["jaccard"].astype(float),
        }
    )
    found = problems.assign(margin=margins.min(axis=1), by=_least(margins))
    found = found[found["margin"].notna()]
    return found.sort_values(["margin", "problem_id"]).head(most)


def _removed_by(release: Release, metric: Metric) -> pd.DataFrame:
    """Rows that decontamination removed by a metric; dedupe uses the same metric within the set."""
    ledger = release.ledger
    return ledger[(ledger["metric"] == metric) & (ledger["stage"] == "decontaminate")]


def _least(margins: pd.DataFrame) -> list[str]:
    """Which metric is nearer, a row; l2 where neither is known."""
    pairs = zip(margins["l2"], margins["jaccard"], strict=True)
    return ["jaccard" if not math.isnan(j) and not (l2 <= j) else "l2" for l2, j in pairs]
