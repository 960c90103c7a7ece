"""What a model gets to see of a crawled program: its computation, without anybody's words.

Crawled code may speak to the model ("label this L5"). Comments and docstrings are gone with the
canonical form; here go the remaining places for prose: strings that are more than a keyword, and
names that talk about judging. What is left is marked off by a tag that it can't contain.
"""

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pipeline.source.canonical import drop_bare_strings
from pipeline.source.trees import walk

VIEW_VERSION = 1  # part of the prompt's version

HIDDEN = "…"  # stands for a string that was taken out

_NAME = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_KEYWORD = re.compile(r"[A-Za-z0-9_.\-]{1,24}")  # "bilinear", "channels_last"
_EQUATION = re.compile(r"[A-Za-z ,.>\-]{1,120}")  # "b i d, b j d -> b i j"

_LEVELS = frozenset(("l0", "l1", "l2", "l3", "l4", "l5"))
_STRONG = _LEVELS | frozenset(
    ("label", "rubric", "judge", "judging", "difficulty", "grade", "rate", "verdict", "ignore",
     "disregard", "forget", "instruction", "instructions", "prompt", "assistant", "reply",
     "respond", "override", "please")
)  # fmt: skip
_WEAK = frozenset(
    ("level", "difficult", "rating", "rank", "score", "previous", "system", "user", "answer",
     "response", "output", "say", "trivial", "simple", "easy", "hard", "expert", "advanced",
     "must", "should", "always", "never", "this", "that", "problem", "model")
)  # fmt: skip
"""A name with a strong word and another of these talks to the judge. Losses have labels, pyramids
have levels: one word alone says nothing. A false alarm costs a readable name, no more."""


@dataclass(frozen=True)
class View:
    """A program as a model sees it, and the names that were changed in it."""

    text: str
    names: Mapping[str, str]  # the program's name → the name shown


def view(code: str) -> str:
    """The program as a model sees it.

    Raises:
        SyntaxError: the text is not Python.
    """
    return view_of(code).text


def view_of(code: str) -> View:
    """The same, with the names that were changed: an answer may speak of them.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = ast.parse(code)
    drop_bare_strings(tree)
    _take_out_strings(tree)
    names: dict[str, str] = {}

    def quiet(match: re.Match[str]) -> str:
        name = match[0]
        if not _speaks(name):
            return name
        return names.setdefault(name, f"name_{len(names) + 1}")

    text = _NAME.sub(quiet, ast.unparse(tree))
    return View(text, names)


def marked(code: str) -> str:
    """The text between tags that carry its own digest, so that nothing in it can close them."""
    mark = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"<program-{mark}>\n{code}\n</program-{mark}>"


def _take_out_strings(tree: ast.Module) -> None:
    """All but keywords, and equations of axes at the place of one."""
    equations = set()
    for node in walk(tree):  # a call comes before its arguments
        match node:
            case ast.Call(
                func=ast.Attribute(attr="einsum") | ast.Name(id="einsum"),
                args=[ast.Constant(value=str() as text) as first, *_],
            ) if _is_equation(text):
                equations.add(first)
            case ast.Constant(value=str() as text) if node not in equations:
                if not _KEYWORD.fullmatch(text) or _speaks(text):
                    node.value = HIDDEN
            case ast.Constant(value=bytes()):
                node.value = HIDDEN


@lru_cache(maxsize=1 << 16)
def _speaks(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    found = {*words, *(one + other for one, other in pairwise(words))}  # "L", "5"
    if found & _LEVELS and len(words) <= 2:
        return True
    return bool(found & _STRONG) and len(found & (_STRONG | _WEAK)) >= 2


def _is_equation(text: str) -> bool:
    words = {word.lower() for word in _WORD.findall(text)}
    return bool(_EQUATION.fullmatch(text)) and not words & _STRONG
