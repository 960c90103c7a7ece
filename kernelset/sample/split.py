"""Train and validation of a sample: whole groups only."""

from collections import Counter
from collections.abc import Sequence

from kernelset.sample.chance import fraction

TRAIN, VALIDATION = "train", "validation"


def split(groups: Sequence[int], share: float, seed: int) -> list[str]:
    """One split a row. Validation gets groups in random order while they fit into the share.

    The largest group is always for training: with a single origin there is no honest validation
    set, and it stays empty.
    """
    sizes = Counter(groups)
    largest = max(sizes, key=lambda group: (sizes[group], -group))
    room, chosen = share * len(groups), set()
    for group in sorted(sizes, key=lambda group: fraction(seed, f"group {group}")):
        if group != largest and sizes[group] <= room:
            chosen.add(group)
            room -= sizes[group]
    return [VALIDATION if group in chosen else TRAIN for group in groups]
