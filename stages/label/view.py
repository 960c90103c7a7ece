"""What the judge gets to see of a program: its computation, without anybody's words.

Crawled code may speak to the judge ("label this L5"). Comments and docstrings are gone with the
canonical form; here go the remaining places for prose: strings that are more than a keyword, and
names that talk about judging. What is left is marked off by a tag that it can't contain.
"""

import ast
import hashlib
import re
from itertools import pairwise

from pipeline.source.canonical import canonical_form

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


def view(code: str) -> str:
    """The program as the judge sees it.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = _Silencer().visit(ast.parse(canonical_form(code)))
    names: dict[str, str] = {}

    def quiet(match: re.Match[str]) -> str:
        name = match[0]
        if not _speaks(name):
            return name
        return names.setdefault(name, f"name_{len(names) + 1}")

    return _NAME.sub(quiet, ast.unparse(tree))


def marked(code: str) -> str:
    """The text between tags that carry its own digest, so that nothing in it can close them."""
    mark = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"<program-{mark}>\n{code}\n</program-{mark}>"


class _Silencer(ast.NodeTransformer):
    """Takes out every string that is more than a keyword or an equation of axes."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kept = {}
        if isinstance(node.func, ast.Attribute | ast.Name) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            first = node.args[0]
            if name == "einsum" and isinstance(first, ast.Constant) and _is_equation(first.value):
                kept[0] = first
        self.generic_visit(node)
        for position, argument in kept.items():
            node.args[position] = argument
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else ""
            if not _KEYWORD.fullmatch(text) or _speaks(text):
                return ast.Constant(HIDDEN)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant(HIDDEN)


def _speaks(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    found = {*words, *(one + other for one, other in pairwise(words))}  # "L", "5"
    if found & _LEVELS and len(words) <= 2:
        return True
    return bool(found & _STRONG) and len(found & (_STRONG | _WEAK)) >= 2


def _is_equation(value: object) -> bool:
    if not isinstance(value, str) or not _EQUATION.fullmatch(value):
        return False
    return not {word.lower() for word in _WORD.findall(value)} & _STRONG
