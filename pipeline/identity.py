"""What makes two things the same. One digest rule for values, one for files."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

SHORT = 16  # hex digits in names of folders: 64 bits, enough for the results of one store


def digest(value: Any) -> str:
    """sha256 of a value made of dicts, lists, text, numbers, None and pydantic models.

    Order of dict keys does not matter; 1 and 1.0 and True are different values.
    """
    return hashlib.sha256(_encode(value)).hexdigest()


def short(value: Any) -> str:
    return digest(value)[:SHORT]


def row_key(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Identity of a row as a stage sees it: only the columns that the stage reads."""
    return digest([row[name] for name in columns])


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _encode(value: Any) -> bytes:
    # "surrogatepass": a lone surrogate in crawled text must not stop the run.
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain
    ).encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"no digest rule for {type(value).__name__}")
