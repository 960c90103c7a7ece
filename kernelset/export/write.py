"""`export`: from problems to a folder in a trainer's format."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelset.errors import ReleaseError
from kernelset.export.facts import facts
from kernelset.export.item import Item, by_split
from kernelset.export.jsonl import write_jsonl
from kernelset.export.kernelbench import write_kernelbench
from kernelset.export.openai_rft import write_openai_rft
from kernelset.export.prompt import Prompt
from kernelset.export.trl import write_trl
from kernelset.export.verl import write_verl
from kernelset.folders import check_replaceable
from kernelset.problem import Problem
from pipeline.errors import UsageError
from pipeline.files import read_json, whole_folder, write_json

FORMATS: dict[str, Callable[[Sequence[Item], Path], None]] = {
    "kernelbench": write_kernelbench,
    "verl": write_verl,
    "trl": write_trl,
    "openai-rft": write_openai_rft,
    "jsonl": write_jsonl,
}
RECORD = "export.json"


@dataclass(frozen=True)
class Request:
    """What to export, and how."""

    to: str
    shapes: str = "train"
    prompt: Prompt | None = None


def export(
    problems: Sequence[Problem], origin: Path, request: Request, folder: Path
) -> dict[str, Any]:
    """Writes the problems; gives the export's record, which is also in `export.json`.

    Args:
        origin: the release's folder, for the record.
        folder: taken over whole; an earlier export there is replaced.

    Raises:
        UsageError: no such format, or the folder holds something else.
        ReleaseError: no problem has a shape of those asked for.
    """
    if request.to not in FORMATS:
        raise UsageError(f"format {request.to!r}: one of {', '.join(FORMATS)}")
    check_replaceable(folder, lambda there: (there / RECORD).is_file())
    prompt = request.prompt or Prompt()
    told = [(facts(one, request.shapes), one.split) for one in problems]
    items = [Item(one, prompt.of(one), split) for one, split in told if one is not None]
    if not items:
        raise ReleaseError(f"{origin}: none of {len(told)} problems has a {request.shapes} shape")
    record = {
        "format": request.to,
        "release": str(origin),
        "release_content": _content(origin),
        "shapes": request.shapes,
        "prompt_sha256": hashlib.sha256(prompt.text.encode()).hexdigest(),
        "rows": {split: len(some) for split, some in by_split(items).items()},
        "without_such_shape": len(told) - len(items),
    }
    with whole_folder(folder) as partial:
        FORMATS[request.to](items, partial)
        write_json(record, partial / RECORD)
    return record


def _content(origin: Path) -> str | None:
    manifest = origin / "manifest.json"
    return read_json(manifest).get("content") if manifest.exists() else None
