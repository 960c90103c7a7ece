"""The token set of a program, and the exact Jaccard similarity of two such sets.

The rule is arXiv 2602.11000's: the set of Python `tokenize` token texts without comments,
docstrings and layout (NEWLINE, NL, INDENT, DEDENT). The scanner is ours and not `tokenize`, for
three reasons: since Python 3.12 `tokenize` splits f-strings, so that one program would have two
token sets; it refuses damaged text, where we still want to compare; and it is four times slower.
A test holds it equal to Python 3.11's `tokenize`.
"""

import re
from collections.abc import Iterable, Set
from functools import lru_cache
from hashlib import blake2b

TOKENS_VERSION = 1
"""Bump when the token set or its hashing changes: fingerprints made by another version are refused."""


def token_set(code: str) -> frozenset[str]:
    """The distinct tokens of a program; empty for an empty or comment-only text."""
    return frozenset(tokens(code))


def tokens(code: str) -> list[str]:
    """The tokens in order, without comments, layout and bare strings (docstrings)."""
    found: list[str] = []
    depth = 0
    statement = 0  # where the current logical line starts in `found`
    only_strings = True
    for text in _TOKEN.findall(code.removeprefix("\ufeff")):
        first = text[0]
        if first in "\r\n":
            if depth == 0:
                if only_strings:
                    del found[statement:]
                statement, only_strings = len(found), True
            continue
        if first in " \t\f#" or (first == "\\" and text != "\\"):
            continue
        found.append(text)
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth = max(0, depth - 1)
        if text[-1] not in "'\"()":
            only_strings = False
        # `;` and `:` end a statement too: `def f(): "docstring"` and `"a"; x = 1`.
        if depth == 0 and text in (";", ":") and _ends_a_statement(found, statement):
            statement, only_strings = len(found), True
    if only_strings:
        del found[statement:]
    return found


def hashed(token_texts: Iterable[str]) -> frozenset[int]:
    """The same set as stable unsigned 64-bit numbers, so that a file of them holds no code."""
    return frozenset(map(token_hash, token_texts))


@lru_cache(maxsize=1 << 18)
def token_hash(token: str) -> int:
    data = token.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def jaccard(one: Set[object], other: Set[object]) -> float:
    """Size of the intersection over size of the union; 1.0 for two empty sets."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 1.0


def _ends_a_statement(found: list[str], statement: int) -> bool:
    """Whether the `;` or `:` just read closes a simple statement or a compound header."""
    return found[-1] == ";" or found[statement] in _COMPOUND


_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")
_COMPOUND = frozenset(("def", "class", "if", "else", "elif", "for", "while", "with", "try"))
_COMPOUND |= {"except", "finally", "async", "match", "case"}

_PREFIX = r"(?:[bB][rR]?|[rR][bB]?|[uU]|[fF][rR]?|[rR][fF])?"
_STRING = (
    rf"{_PREFIX}(?:"
    r"'''[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*'''"
    r'|"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""'
    r"|'[^\n'\\]*(?:\\[\s\S][^\n'\\]*)*'"
    r'|"[^\n"\\]*(?:\\[\s\S][^\n"\\]*)*"'
    ")"
)
_EXPONENT = r"[eE][-+]?[0-9](?:_?[0-9])*"
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+"
    rf"|(?:{_DIGITS}\.(?:{_DIGITS})?|\.{_DIGITS})(?:{_EXPONENT})?[jJ]?"
    rf"|{_DIGITS}{_EXPONENT}[jJ]?"
    rf"|{_DIGITS}[jJ]?"
)
_OPERATOR = r"\*\*=|//=|>>=|<<=|\.\.\.|->|:=|!=|\*\*|//|>>|<<|[-+*/%&|^=<>@]=|[^\w\s]"
_TOKEN = re.compile(rf"[ \t\f]+|\r?\n|\r|\\\r?\n|#[^\r\n]*|{_STRING}|{_NUMBER}|\w+|{_OPERATOR}|\S")
