"""Stops a run in which near-copy removal eats a whole source: more likely a bug than a fact.

A public pipeline once deleted 859,090 of 859,092 rows of a source this way
(marin-community/marin#6854) and nobody was told. Exact copies are no matter: they lose nothing.
"""

from collections import Counter
from collections.abc import Sequence

from pipeline.errors import KernelsetError
from pipeline.stage import Outcome, Removed, Row
from stages.dedupe.settings import DedupeSettings


class SourceWipedOut(KernelsetError):
    """Near-copy removal took more of one source than the recipe allows."""


def check_shares(
    rows: Sequence[Row], outcomes: Sequence[Outcome], settings: DedupeSettings
) -> None:
    """Nothing, if every source keeps enough of its distinct rows.

    Raises:
        SourceWipedOut: names the source, the share and the setting.
    """
    distinct: Counter[str] = Counter()
    near: Counter[str] = Counter()
    for row, outcome in zip(rows, outcomes, strict=True):
        reason = outcome.reason if isinstance(outcome, Removed) else ""
        if reason != "exact_copy":
            distinct[row["source_name"]] += 1
            near[row["source_name"]] += reason == "near_copy"
    for source, count in sorted(distinct.items()):
        share = near[source] / count
        if count >= settings.guard_from_rows and share > settings.max_share_of_source:
            raise SourceWipedOut(
                f"dedupe would remove {near[source]} of {count} distinct rows of source "
                f"{source!r} as near copies ({share:.0%}); look at some of them, then raise "
                f"dedupe.max_share_of_source (now {settings.max_share_of_source:g}) if it is right"
            )
