"""The results of a run on disk: append-only, each line chained to the one before.

Killed anywhere, what is there is whole lines; a torn last line is dropped. A file that was changed
afterwards no longer fits its own chain, and is refused. Files stay under `MOST_BYTES`.

    results-NN.jsonl     {"chain", "kind": job | canary | environment, ...}
    generated-NN.jsonl   {"chain", "sha256", "zlib_b64"}: Inductor's code, once each
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_BYTES = 14 * 2**20  # what carries files off the machine takes 16 MiB each


class DamagedJournal(Exception):
    """A line does not fit the chain: the file was changed or lost a part."""


class Journal:
    """One chain of lines over numbered files."""

    def __init__(self, folder: Path, name: str) -> None:
        """Opens the journal for appending, after a look at what is there.

        Raises:
            DamagedJournal: what is there was changed.
        """
        self._folder = folder
        self._name = name
        folder.mkdir(parents=True, exist_ok=True)
        self.lines, self._chain, torn = _read(folder, name)
        paths = _paths(folder, name)
        self._number = len(paths) - 1 if paths else 0
        if torn is not None:
            path, size = torn
            os.truncate(path, size)

    def append(self, body: dict[str, Any]) -> None:
        """Writes one line and waits until it is on the disk."""
        chain = _link(self._chain, body)
        line = json.dumps({"chain": chain, **body}).encode() + b"\n"
        path = self._path()
        if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
            self._number += 1
            path = self._path()
        with path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._chain = chain

    def _path(self) -> Path:
        return self._folder / f"{self._name}-{self._number:02}.jsonl"


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    """All lines of a journal.

    Raises:
        DamagedJournal: a line was changed.
    """
    return _read(folder, name)[0]


def packed(code: str) -> dict[str, str]:
    """A text as a line of the journal `generated`."""
    data = code.encode()
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "zlib_b64": base64.b64encode(zlib.compress(data, 9)).decode(),
    }


def unpacked(line: dict[str, Any]) -> str:
    return zlib.decompress(base64.b64decode(line["zlib_b64"])).decode()


def _read(folder: Path, name: str) -> tuple[list[dict[str, Any]], str, tuple[Path, int] | None]:
    chain = ""
    lines: list[dict[str, Any]] = []
    for path, start, text, last in _raw(folder, name):
        try:
            body = json.loads(text)
            said = body.pop("chain")
        except (ValueError, KeyError, AttributeError):
            if last:
                return lines, chain, (path, start)
            raise DamagedJournal(f"{path}: not a line of a journal at byte {start}") from None
        chain = _link(chain, body)
        if said != chain:
            raise DamagedJournal(f"{path}: changed after it was written, at byte {start}")
        lines.append(body)
    return lines, chain, None


def _raw(folder: Path, name: str) -> Iterator[tuple[Path, int, bytes, bool]]:
    paths = _paths(folder, name)
    for path in paths:
        start = 0
        texts = path.read_bytes().split(b"\n")
        for index, text in enumerate(texts):
            if text:
                torn = path == paths[-1] and index == len(texts) - 1
                yield path, start, text, torn
            start += len(text) + 1


def _paths(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}-[0-9][0-9].jsonl"))


def _link(before: str, body: dict[str, Any]) -> str:
    text = before + json.dumps(body, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
