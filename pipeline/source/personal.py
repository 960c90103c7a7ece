"""Personal data in a program's text: e-mail addresses, and home folders that name their owner.

In comments and bare strings (docstrings) it is replaced, which leaves the program's canonical form
as it is. Elsewhere it is part of what the program does, so it is only found.

Names stay: "Copyright (c) 2020 Jane Doe" is what most licences ask to be kept.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_TLD = r"(?:com|org|net|edu|gov|mil|int|info|biz|name|dev|app|xyz|tech|ai|[a-z]{2})"
# Not `x@w.to(device)`: a call or an index follows, where an address ends.
_AT = re.compile(rf"[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9-]+\.)+{_TLD}(?![\w(\[]|\.\w)")
_SPELLED = re.compile(
    rf"[A-Za-z0-9][\w.+-]*\s*[\[({{<]\s*at\s*[\])}}>]\s*[\w-]+"
    rf"(?:\s*(?:[\[({{<]\s*dot\s*[\])}}>]|\.)\s*[\w-]+)*?\s*(?:[\[({{<]\s*dot\s*[\])}}>]|\.)\s*{_TLD}\b",
    re.IGNORECASE,
)
_HOME = re.compile(r"(?<![\w.])(/home/|/Users/|[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/))([\w.-]+)")
_MAYBE = re.compile(r"\w@\w|[\[({<]\s*at\s*[\])}>]|/home/|Users", re.IGNORECASE)
"""Any of the above needs one of these; nearly all programs have none, and this is fast."""
NOBODY = frozenset(("user", "users", "username", "ubuntu", "runner", "shared", "public", "default"))
"""Home folders that say nothing about a person."""
_LAYOUT = frozenset(
    (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
)


@dataclass(frozen=True)
class Personal:
    """Something that leads to a person."""

    kind: str
    """`e-mail address` or `home folder`."""
    line: int


def without_personal_data(code: str) -> tuple[str, list[str]]:
    """The text with comments and bare strings cleaned, and the edits in words (none: nothing found).

    A text that Python can't split into tokens comes back as it is.
    """
    if not _MAYBE.search(code):
        return code, []
    try:
        spans = list(_prose(code))
    except (tokenize.TokenError, SyntaxError):
        return code, []
    counts = dict.fromkeys(("e-mail address", "home folder"), 0)
    lines = code.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts, done = [], 0
    for (first, left), (last, right) in spans:
        begin, end = starts[first - 1] + left, starts[last - 1] + right
        parts += [code[done:begin], _cleaned(code[begin:end], counts)]
        done = end
    edits = [
        f"removed {count} {kind}{_plural(kind, count)} from comments"
        for kind, count in counts.items()
        if count
    ]
    return "".join([*parts, code[done:]]), edits


def personal_in(code: str) -> Iterator[Personal]:
    """Everything personal in the text, wherever it stands, line by line."""
    if not _MAYBE.search(code):
        return
    for number, line in enumerate(code.splitlines(), 1):
        if any(_is_address(found) for found in _addresses(line)):
            yield Personal("e-mail address", number)
        if any(_is_somebody(found) for found in _HOME.finditer(line)):
            yield Personal("home folder", number)


def _addresses(line: str) -> Iterator[re.Match[str]]:
    yield from _AT.finditer(line)
    yield from _SPELLED.finditer(line)


def _cleaned(text: str, counts: dict[str, int]) -> str:
    def hide_address(found: re.Match[str]) -> str:
        if not _is_address(found):
            return found[0]
        counts["e-mail address"] += 1
        return "<e-mail>"

    def hide_owner(found: re.Match[str]) -> str:
        if not _is_somebody(found):
            return found[0]
        counts["home folder"] += 1
        return f"{found[1]}<user>"

    text = _SPELLED.sub(hide_address, _AT.sub(hide_address, text))
    return _HOME.sub(hide_owner, text)


def _is_address(found: re.Match[str]) -> bool:
    return not found[0].startswith("git@")  # how repositories are named


def _is_somebody(found: re.Match[str]) -> bool:
    return found[2].lower() not in NOBODY


def _prose(code: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where comments and bare strings begin and end: (line, column) from 1 and 0, in characters."""
    alone = True  # nothing but strings since the statement began
    waiting = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end
        elif token.type == tokenize.STRING and alone:
            waiting.append((token.start, token.end))
        elif token.type in _LAYOUT or token.type == tokenize.ENDMARKER:
            if token.type == tokenize.NEWLINE:
                yield from waiting
                alone, waiting = True, []
        else:
            alone, waiting = False, []


def _plural(kind: str, count: int) -> str:
    if count == 1:
        return ""
    return "es" if kind.endswith("s") else "s"
