"""A folder in KernelBench's layout, which its LocalKernelBenchDataset reads (`base_path=`).

    level3/12_LowRankCrossNetwork.py      the program at its first shape
    shapes/odd/level3/12_LowRank….py      the same problem at each further shape
    prompts/level3/12_LowRank….md
    problems.jsonl                        a line a problem: `file`, `split` and all facts

Levels are ours, L0 to L5, not KernelBench's; its loader takes levels from 1 on, so `level0` is there
for other readers. Numbers count from 1 within a level, in the order of problem_id.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernelset.export.item import Item


def write_kernelbench(items: Sequence[Item], folder: Path) -> None:
    """All splits together; `problems.jsonl` says which is which."""
    lines = []
    for name, item in _numbered(items):
        first, *further = item.facts["shapes"]
        _write(folder / name, first["program"])
        for where, shape in _folders(further):
            _write(folder / "shapes" / where / name, shape["program"])
        _write((folder / "prompts" / name).with_suffix(".md"), item.prompt)
        lines.append({"file": name, "split": item.split, **item.facts})
    text = "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)
    _write(folder / "problems.jsonl", text)


def _numbered(items: Sequence[Item]) -> Iterator[tuple[str, Item]]:
    counts: defaultdict[str, int] = defaultdict(int)
    for item in sorted(items, key=lambda item: str(item.facts["problem_id"])):
        level = item.facts["level"].removeprefix("L")
        counts[level] += 1
        title = re.sub(r"\W", "_", item.facts["name"], flags=re.ASCII)
        yield f"level{level}/{counts[level]}_{title}.py", item


def _folders(shapes: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A folder a shape: its name, or name and id where an earlier one is called so."""
    seen = set()
    for shape in shapes:
        name = (
            shape["name"] if shape["name"] not in seen else f"{shape['name']}-{shape['shape_id']}"
        )
        seen.add(shape["name"])
        yield name, shape


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
