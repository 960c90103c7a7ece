"""All files of a crawled source, so that a class can be followed across files.

The crawl stores them once, named by digest; the rows carry the digest as `package_sha256`.
"""

from pathlib import Path

import pyarrow as pa

from pipeline.files import read_table

PACKAGE = pa.schema([("path", pa.string()), ("text", pa.string())])


def package_path(package_sha256: str, shared: Path) -> Path:
    return shared / "packages" / f"{package_sha256}.parquet"


def read_package(package_sha256: str, shared: Path) -> dict[str, str]:
    """A source's files by path."""
    table = read_table(package_path(package_sha256, shared))
    return dict(zip(table["path"].to_pylist(), table["text"].to_pylist(), strict=True))
