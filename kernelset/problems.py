"""`kernelset.load`: a release, or the part of it that one asks for, as a sequence of problems."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import pyarrow as pa

from kernelset.baseline import OK, fits
from kernelset.errors import ReleaseError
from kernelset.problem import Problem
from kernelset.shards import Place, columns, open_shards, places, read_group
from pipeline.errors import UsageError
from pipeline.paths import OUT
from pipeline.release import LATEST

LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5")
DEVICE = ["baselines.list.element." + name for name in ("device", "device_kind", "status")]


class Problems(Sequence[Problem]):
    """Problems of a release, each read when it is asked for.

    A problem is asked for by its position; `find` takes the first digits of its id. A slice is
    again a sequence of problems. Iterating reads row group by row group.
    """

    def __init__(self, folder: Path, where: Sequence[Place]) -> None:
        self.folder = folder
        self._where = where

    def __len__(self) -> int:
        return len(self._where)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> "Problems": ...
    def __getitem__(self, index: int | slice) -> "Problem | Problems":
        if isinstance(index, slice):
            return Problems(self.folder, self._where[index])
        place = self._where[index]
        return Problem(read_group(place.path, place.group).slice(place.row, 1).to_pylist()[0])

    def find(self, problem_id: str) -> Problem:
        """The one problem whose id starts so.

        Raises:
            UsageError: none or several do.
        """
        ids = [read_group(p.path, p.group)["problem_id"][p.row].as_py() for p in self._where]
        found = [index for index, one in enumerate(ids) if one.startswith(problem_id)]
        if len(found) != 1:
            raise UsageError(f"{problem_id!r} starts {len(found)} of {len(ids)} problem ids")
        return self[found[0]]

    def __repr__(self) -> str:
        return f"<{len(self)} problems of {self.folder}>"


def load(
    path_or_latest: str | Path = LATEST,
    *,
    level: str | Iterable[str] | None = None,
    source: str | Iterable[str] | None = None,
    split: str | None = None,
    device: str | None = None,
    out: Path = OUT,
) -> Problems:
    """The problems of a release. Rows are read when they are asked for; nothing is executed.

    Args:
        path_or_latest: a release's or a sample's folder, or a release's name below `out`.
        level: "L3", "L2-L5", or several of these.
        source: name of a source, as in the column `source_name`, or several.
        split: train or validation.
        device: only problems with an accepted time on this device: part of its name in any case
            ("h200"), or its kind ("cuda", "cpu").
        out: folder of the releases.

    Raises:
        UsageError: no such release or level.
        ReleaseError: a shard is missing or damaged, the schema is older, or no row is left.
    """
    shards = open_shards(path_or_latest, out)
    facts = columns(shards, ["level", "source_name", "split", *(DEVICE if device else [])])
    mask = [True] * facts.num_rows
    told = []
    for name, wanted in (
        ("level", parse_levels(level)),
        ("source_name", _names(source)),
        ("split", _names(split)),
    ):
        if wanted is not None:
            there = facts[name].to_pylist()
            mask = [ok and one in wanted for ok, one in zip(mask, there, strict=True)]
            told.append(f"{name} {', '.join(sorted(wanted))} (there are: {_counts(there)})")
    if device:
        mask = [ok and one for ok, one in zip(mask, _on_device(facts, device), strict=True)]
        told.append(f"device {device} (there are: {_devices(facts)})")
    where = [place for place, ok in zip(places(shards), mask, strict=True) if ok]
    if not where:
        why = f"no row of {facts.num_rows} with " + " and ".join(told) if told else "0 rows"
        raise ReleaseError(f"{shards.folder}: {why if facts.num_rows else '0 rows'}")
    return Problems(shards.folder, where)


def parse_levels(wanted: str | Iterable[str] | None) -> frozenset[str] | None:
    """The levels of "L3", "L2-L5", "L2,L4" or several of these; None for None.

    Raises:
        UsageError: no such level.
    """
    if wanted is None:
        return None
    parts = ",".join([wanted] if isinstance(wanted, str) else wanted).split(",")
    found: set[str] = set()
    for part in (one.strip() for one in parts):
        match = re.fullmatch(r"L?([0-5])(?:-L?([0-5]))?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high:
            raise UsageError(f"level {part!r}: one of {', '.join(LEVELS)}, or a range: L2-L5")
        found |= set(LEVELS[low : high + 1])
    return frozenset(found)


def _names(wanted: str | Iterable[str] | None) -> frozenset[str] | None:
    if wanted is None:
        return None
    return frozenset([wanted] if isinstance(wanted, str) else wanted)


def _on_device(facts: pa.Table, device: str) -> list[bool]:
    return [
        any(one["status"] == OK and fits(one["device"], one["device_kind"], device) for one in row)
        for row in facts["baselines"].to_pylist()
    ]


def _counts(values: Sequence[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(Counter(values).items())) or "none"


def _devices(facts: pa.Table) -> str:
    return _counts([one["device"] for row in facts["baselines"].to_pylist() for one in row])
