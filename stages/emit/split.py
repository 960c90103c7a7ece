"""Train and validation: what belongs together stays together.

All problems of one origin (a package, a repository) and all members of one family go to the same
side, so that validation measures what a model makes of code it has never seen.
"""

from collections.abc import Sequence

from pipeline.identity import digest
from pipeline.stage import Row

TRAIN, VALIDATION = "train", "validation"


def split_by_origin(rows: Sequence[Row], share: float) -> list[str]:
    """One split per row. Validation gets whole groups, in digest order, while they fit the share.

    With a single origin there is no honest validation set, and it stays empty.
    """
    groups = _groups(rows)
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    room, chosen = share * len(rows), set()
    for group in sorted(sizes, key=digest):
        if sizes[group] <= room and len(chosen) < len(sizes) - 1:
            chosen.add(group)
            room -= sizes[group]
    return [VALIDATION if group in chosen else TRAIN for group in groups]


def _groups(rows: Sequence[Row]) -> list[str]:
    """The group of each row: the smallest origin that it is connected with."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for row in rows:
        left, right = sorted((root(f"origin {row['origin']}"), root(f"family {row['family_id']}")))
        parent[left] = right  # "origin …" sorts after "family …": a group is named by an origin
    return [root(f"origin {row['origin']}") for row in rows]
