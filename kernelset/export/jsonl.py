"""Plain JSONL: a line has `prompt` and the facts."""

from collections.abc import Sequence
from pathlib import Path

from kernelset.export.item import Item
from kernelset.export.lines import write_lines


def write_jsonl(items: Sequence[Item], folder: Path) -> None:
    """`train.jsonl` and, where there are such rows, `validation.jsonl`."""
    write_lines(items, folder, lambda item: {"prompt": item.prompt, **item.facts})
