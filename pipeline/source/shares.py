"""Stops a run in which the removal of copies eats a whole source: more likely a bug than a fact.

A public pipeline once deleted 859,090 of 859,092 rows of a source this way
(marin-community/marin#6854) and nobody was told. Exact copies are no matter: they lose nothing.
"""

from collections import Counter
from collections.abc import Sequence

from pipeline.errors import KernelsetError
from pipeline.stage import Outcome, Removed, Row


class SourceWipedOut(KernelsetError):
    """The removal of copies took more of one source than the recipe allows."""


def check_shares(
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    *,
    stage: str,
    reason: str,
    most: float,
    from_rows: int,
) -> None:
    """Nothing, if every source keeps enough of its distinct rows.

    Args:
        rows: with `source_name`.
        outcomes: one per row.
        stage: whose name the message says; it has a setting `max_share_of_source`.
        reason: the removals that count.
        most: the largest share of a source's rows, its exact copies left out, that may go.
        from_rows: sources with fewer such rows are not held to it.

    Raises:
        SourceWipedOut: names the source, the share and the setting.
    """
    distinct: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for row, outcome in zip(rows, outcomes, strict=True):
        why = outcome.reason if isinstance(outcome, Removed) else ""
        if why != "exact_copy":
            distinct[row["source_name"]] += 1
            gone[row["source_name"]] += why == reason
    for source, count in sorted(distinct.items()):
        share = gone[source] / count
        if count >= from_rows and share > most:
            raise SourceWipedOut(
                f"{stage} would remove {gone[source]} of {count} distinct rows of source "
                f"{source!r} as {reason} ({share:.0%}); look at some of them, then raise "
                f"{stage}.max_share_of_source (now {most:g}) if it is right"
            )
