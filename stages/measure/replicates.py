"""One program measured in several runs, each in a fresh process: do the readings agree?

Five runs in one process share whatever that process had: an address, an algorithm that cuDNN chose, a
state of the allocator. Only another process can tell. Two accepted medians that lie more than
`DIFFER` apart cast doubt on both; a third decides, if it comes, by agreeing with one of them.
"""

import itertools
import json
from collections.abc import Mapping
from statistics import median
from typing import Any

DIFFER = 0.03
REASON = "replicate"
Row = dict[str, Any]


def joined(old: Row, new: Row) -> Row:
    """The row for one program, mode, device and dtype of which two readings are known.

    Of accepted readings that agree the one nearest to the median of all is kept; all medians stand
    in the environment under `replicates_ms`. Where no two agree the row is `noisy`. A reading by
    another protocol or torch takes the older one's place, and so does one beside a failure.

    Args:
        old: what is known, perhaps joined before.
        new: the reading of a later run.
    """
    if not _comparable(old, new) or not _accepted(old):
        return new
    if not _accepted(new) or new["raw_ms"] == old["raw_ms"]:
        return old
    medians = [*_medians(old), new["median_ms"]]
    nearest = min((new, old), key=lambda row: abs(median(row["raw_ms"]) - median(medians)))
    apart = [abs(a - b) / min(a, b) for a, b in itertools.combinations(medians, 2)]
    agree, doubtful = min(apart) <= DIFFER, max(apart) > DIFFER
    value = median(nearest["raw_ms"]) if agree else None
    floor_ms = nearest["floor_ms"]
    return {
        **nearest,
        "status": "ok" if agree else "noisy",
        "median_ms": value,
        "headroom": value / floor_ms if value and floor_ms else None,
        "reasons": sorted({*nearest["reasons"], *([REASON] if doubtful else [])}),
        "environment": json.dumps(
            {**json.loads(nearest["environment"]), "replicates_ms": medians}, sort_keys=True
        ),
    }


def _comparable(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    one, other = json.loads(old["environment"]), json.loads(new["environment"])
    return old["protocol"] == new["protocol"] and one.get("torch") == other.get("torch")


def _accepted(row: Mapping[str, Any]) -> bool:
    """Whether a row is a reading to compare with; one that replicates made noisy is."""
    return row["status"] == "ok" or (row["status"] == "noisy" and REASON in row["reasons"])


def _medians(row: Mapping[str, Any]) -> list[float]:
    known: list[float] = json.loads(row["environment"]).get("replicates_ms", [])
    return known or [row["median_ms"]]
