"""What a format's writer gets: a problem's facts, its prompt and its split."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One problem, ready to be written down."""

    facts: dict[str, Any]  # see kernelset/export/facts.py
    prompt: str
    split: str

    def messages(self) -> list[dict[str, str]]:
        """The prompt as a conversation: one message of the user."""
        return [{"role": "user", "content": self.prompt}]


def by_split(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The items of each split; a split without items is not there."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.split, []).append(item)
    return found
