"""Which of several copies is kept. The rule knows no setting, so that no threshold changes it."""

from typing import Any

from pipeline.stage import Row

# The fewer duties a licence lays on the reader of the dataset, the earlier it stands.
_LICENCES = (
    "CC0-1.0",
    "Unlicense",
    "0BSD",
    "MIT-0",
    "MIT",
    "ISC",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Apache-2.0",
)


def rank(row: Row, times_seen: int) -> tuple[Any, ...]:
    """Sort key, smallest first: freest licence, most used, shortest, then by name of origin.

    `times_seen` is how many rows have this very canonical form. Where the age of a program is
    known nowhere, the shortest text stands in for the original: copies tend to grow.
    """
    licence = row["licence"]
    freedom = _LICENCES.index(licence) if licence in _LICENCES else len(_LICENCES)
    place = (row["source_name"], row["path"], row["line_start"], row["problem_id"])
    return (freedom, -times_seen, len(row["code"]), *place)
