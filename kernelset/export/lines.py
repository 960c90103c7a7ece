"""JSONL files, one a split."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelset.export.item import Item, by_split


def write_lines(items: Sequence[Item], folder: Path, row: Callable[[Item], dict[str, Any]]) -> None:
    """`train.jsonl`, `validation.jsonl`: a row each line."""
    for split, some in by_split(items).items():
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for item in some:
                # A NaN is not JSON: it is refused here, not by the reader.
                file.write(json.dumps(row(item), ensure_ascii=False, allow_nan=False) + "\n")
