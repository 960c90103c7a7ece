"""What later stages need of a source beyond its modules: all its files, and its licence text.

Both are files named by their digest, so that equal content is stored once and nothing goes stale.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.files import whole_file, write_table
from pipeline.identity import digest
from pipeline.source.package import PACKAGE, package_path
from stages.crawl.fetch import RawFile
from stages.crawl.reading import decode


def share_package(files: Sequence[RawFile], shared: Path) -> str:
    """Stores every readable file of a source; gives the digest to find them by."""
    rows = []
    for file in sorted(files, key=lambda file: file.path):
        try:
            text = decode(file.content)
            text.encode()
        except (SyntaxError, UnicodeError, LookupError):
            continue  # the crawl's ledger has it
        rows.append({"path": file.path, "text": text})
    name = digest(rows)
    path = package_path(name, shared)
    if not path.exists():
        write_table(pa.Table.from_pylist(rows, schema=PACKAGE), path)
    return name


def share_licence(text: str, sha256: str, shared: Path) -> None:
    path = shared / "licences" / f"{sha256}.txt"
    if not path.exists():
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8", errors="replace")
