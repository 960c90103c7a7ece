"""Which licence a source has, and whether its code may enter.

The licence text must be one we recognise, and what the package declares must agree with it; a
package that declares nothing has the licence of its text. Anything else is not used.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from license_expression import ExpressionError, get_spdx_licensing

from pipeline.stage import Removed

PERMISSIVE = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    ]
)

# How packages write their licence in free text (METADATA `License`, trove classifiers). A name that
# fits several licences ("BSD") is left out on purpose: then the licence text decides.
NAMES = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit": "MIT",
    "mit license": "MIT",
}

# A phrase that stands in this licence's text and in no other's.
PHRASES = {
    "Apache-2.0": ["apache license", "version 2.0, january 2004"],
    "MIT": ["permission is hereby granted, free of charge, to any person obtaining a copy",
            "the above copyright notice and this permission notice shall be included"],
    "BSD-3-Clause": ["redistributions in binary form must reproduce", "neither the name"],
    "BSD-2-Clause": ["redistributions in binary form must reproduce"],
    "ISC": ["permission to use, copy, modify, and/or distribute this software for any purpose"],
    "Unlicense": ["this is free and unencumbered software released into the public domain"],
}  # fmt: skip

# Terms that turn a permissive-looking text into something else.
RESTRICTIONS = ("non-commercial", "noncommercial", "use-based restrictions", "reciprocity",
                "not for training", "evaluation only")  # fmt: skip

HEADER = re.compile(r"SPDX-License-Identifier:\s*([^\n*]+)")

_spdx = get_spdx_licensing()


@dataclass(frozen=True)
class DeclaredLicence:
    """What a source says its licence is, in the three places where it may say so."""

    expression: str = ""
    name: str = ""
    classifiers: tuple[str, ...] = ()


class RemovedFile(Removed):
    """A removal that is told for each file of the source."""

    def named(self, path: str) -> Removed:
        return replace(self, name=path)


@dataclass(frozen=True)
class Verdict:
    """Either a licence, or the reason why the source can't enter."""

    licence: str = ""
    text_sha256: str = ""
    removed: RemovedFile | None = None


def judge(declared: DeclaredLicence, text: str, allowed: Sequence[str]) -> Verdict:
    """The licence of a source, from its declaration and its licence text."""
    said, read = _declared(declared), recognise(text)
    if not text.strip():
        return Verdict(
            removed=RemovedFile("licence_text_missing", f"declared: {said or 'nothing'}")
        )
    if any(term in text.lower() for term in RESTRICTIONS) and read != "Apache-2.0":
        return Verdict(removed=RemovedFile("licence_custom", "the text restricts use"))
    if said is None:
        raw = declared.expression or declared.name or ", ".join(declared.classifiers)
        return Verdict(removed=RemovedFile("licence_unknown", f"declared: {raw[:80]!r}"))
    if not read:
        return Verdict(
            removed=RemovedFile("licence_text_unknown", f"declared: {said or 'nothing'}")
        )
    licence = said or read
    if said and read not in said:
        return Verdict(removed=RemovedFile("licence_disagrees", f"declared {said}, text {read}"))
    if not permissive(licence, allowed):
        return Verdict(removed=RemovedFile("licence_not_permissive", licence))
    return Verdict(licence, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def header_licence(text: str) -> str:
    """The SPDX id in a file's own header; empty if it has none."""
    found = HEADER.search(text[:4000])
    return found.group(1).strip() if found else ""


def permissive(expression: str, allowed: Sequence[str]) -> bool:
    """Whether an SPDX expression can be met with allowed licences alone.

    `A OR B` needs one of them, `A AND B` both. `A WITH exception` is as good as A: exceptions only
    add permissions.
    """
    try:
        parsed = _spdx.parse(expression, validate=True)
    except ExpressionError:
        return False
    return parsed is not None and _met(parsed, frozenset(allowed))


def recognise(text: str) -> str:
    """The SPDX id of a licence text, by phrases that no other licence has; empty if unknown."""
    plain = " ".join(text.lower().split())
    for licence, phrases in PHRASES.items():
        if all(phrase in plain for phrase in phrases):
            return licence
    return ""


def _declared(declared: DeclaredLicence) -> str | None:
    """The declared SPDX expression; empty if nothing is declared; None if it can't be told."""
    if declared.expression:
        try:
            parsed = _spdx.parse(declared.expression, validate=True)
        except ExpressionError:
            return None
        return str(parsed.render()) if parsed is not None else ""
    named = [NAMES[n.lower()] for n in (declared.name, *declared.classifiers) if n.lower() in NAMES]
    if named:
        return named[0] if len(set(named)) == 1 else None
    return ""


def _met(node: object, allowed: frozenset[str]) -> bool:
    match type(node).__name__:
        case "AND":
            return all(_met(part, allowed) for part in node.args)  # type: ignore[attr-defined]
        case "OR":
            return any(_met(part, allowed) for part in node.args)  # type: ignore[attr-defined]
        case "LicenseWithExceptionSymbol":
            return _met(node.license_symbol, allowed)  # type: ignore[attr-defined]
        case _:
            return getattr(node, "key", "") in allowed
