"""A file's bytes become text as Python itself would read them, or a reason why not."""

import hashlib
import io
import re
import tokenize
from collections.abc import Mapping, Sequence

from pipeline.identity import SHORT, digest
from pipeline.stage import Kept, Outcome, Removed
from stages.crawl.fetch import RawFile
from stages.crawl.licence import header_licence, permissive

CLASS_WITH_BASES = re.compile(r"^[ \t]*class[ \t]+\w+[ \t]*\([^)\n]*\w", re.MULTILINE)


def read_file(
    file: RawFile, origin: Mapping[str, str], licences: Sequence[str], max_kb: int
) -> Outcome:
    """One Python file: kept with its text, or removed with the reason."""
    if len(file.content) > max_kb << 10:
        return Removed(
            "too_big", "", metric="KiB", value=len(file.content) / 1024, threshold=max_kb,
            name=file.path,
        )  # fmt: skip
    if b"\0" in file.content:
        return Removed("nul_bytes", "Python refuses source with NUL bytes", name=file.path)
    try:
        text = decode(file.content)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return Removed("undecodable", str(error), name=file.path)
    classes = len(CLASS_WITH_BASES.findall(text)) if "torch" in text or "nn." in text else 0
    if not classes:
        return Removed("no_module", "no class that could be an nn.Module", name=file.path)
    own = header_licence(text)
    if own and not permissive(own, licences):
        return Removed("licence_in_header", own, name=file.path)
    source_sha256 = hashlib.sha256(file.content).hexdigest()
    return Kept(
        dict(origin)
        | {
            "file_id": digest([origin["origin"], origin["version"], file.path, source_sha256])[
                : 2 * SHORT
            ],
            "path": file.path,
            "source_sha256": source_sha256,
            "text": text,
            "modules": classes,
        }
    )


def decode(content: bytes) -> str:
    """Source text: BOM and coding cookie (PEP 263) obeyed, line ends made \\n.

    Raises:
        SyntaxError, UnicodeDecodeError, LookupError: Python could not read it either.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline=None).read()
