"""Guard rails: a release that looks wrong is not published, and the one before stays the latest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import KernelsetError
from pipeline.files import read_json, read_table


class GuardStopped(KernelsetError):
    """The new release differs from the last one in a way that a person should see first."""


@dataclass(frozen=True)
class Rails:
    """How much a release may lose against the one before."""

    max_shrink: float  # share of rows
    max_source_shrink: float  # share of one source's rows; 1 is: the source is gone


def check_rails(
    latest: Path, recipe: str, rows: pa.Table, rails: Rails, lost: Mapping[str, str] | None = None
) -> None:
    """Compares what is about to be published with the latest release of the same recipe.

    Args:
        lost: sources that could not be had, and why.

    Raises:
        GuardStopped: names what shrank, and how to publish anyway.
    """
    if not (latest / "manifest.json").exists():
        return
    if read_json(latest / "manifest.json")["recipe"]["name"] != recipe:
        return  # another recipe is another dataset
    shards = sorted((latest / "data").glob("*.parquet"))
    old = pa.concat_tables([read_table(shard, ["source_name"]) for shard in shards])
    troubles = _troubles(old, rows, rails, lost or {})
    if troubles:
        raise GuardStopped(
            f"not published: {'; '.join(troubles)}. {latest.resolve().name} stays the latest; "
            "look at it with `kernelset status`, publish anyway with --accept 'reason'"
        )


def _troubles(old: pa.Table, new: pa.Table, rails: Rails, lost: Mapping[str, str]) -> Sequence[str]:
    troubles = []
    if new.num_rows < old.num_rows * (1 - rails.max_shrink):
        troubles.append(f"{old.num_rows} rows became {new.num_rows}")
    counts = [_counts(table) for table in (old, new)]
    for source, before in sorted(counts[0].items()):
        after = counts[1].get(source, 0)
        if after < before * (1 - rails.max_source_shrink) or not after:
            why = f" ({lost[source]})" if source in lost else ""
            troubles.append(f"source {source} went from {before} rows to {after}{why}")
    return troubles


def _counts(table: pa.Table) -> dict[str, int]:
    found = pc.value_counts(table["source_name"]).to_pylist()
    return {entry["values"]: entry["counts"] for entry in found}
