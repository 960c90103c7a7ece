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

VIEW_VERSION = 1

_KEYWORD = re.compile(r"[A-Za-z0-9_.\-]{1,24}")  # "bilinear", "channels_last"
_EQUATION = re.compile(r"[A-Za-z0-9_ ,.()\->]{1,120}")
_EQUATION_CALLS = frozenset(("einsum", "rearrange", "reduce", "repeat", "einop"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_JUDGING = frozenset(
    [
        "label",
        "level",
        "rubric",
        "judge",
        "judging",
        "difficulty",
        "difficult",
        "grade",
        "rate",
        "rating",
        "rank",
        "score",
        "verdict",
        "ignore",
        "disregard",
        "forget",
        "instruction",
        "instructions",
        "previous",
        "prompt",
        "system",
        "assistant",
        "user",
        "answer",
        "reply",
        "respond",
        "response",
        "output",
        "say",
        "trivial",
        "simple",
        "easy",
        "hard",
        "expert",
        "advanced",
        "override",
        "please",
        "must",
        "should",
        "always",
        "never",
        "l0",
        "l1",
        "l2",
        "l3",
        "l4",
        "l5",
        "this",
        "that",
        "problem",
        "model",
    ]
)
_STRONG = frozenset(
    [
        "label",
        "rubric",
        "judge",
        "judging",
        "difficulty",
        "grade",
        "rate",
        "verdict",
        "ignore",
        "disregard",
        "forget",
        "instruction",
        "instructions",
        "prompt",
        "assistant",
        "reply",
        "respond",
        "override",
        "please",
        "l0",
        "l1",
        "l2",
        "l3",
        "l4",
        "l5",
    ]
)


def view(code: str) -> str:
    """The program as the judge sees it.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = ast.parse(canonical_form(code))
    return ast.unparse(_Silencer().visit(tree))


def marked(code: str) -> str:
    """The text between tags that carry its own digest, so that nothing in it can close them."""
    mark = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"<program-{mark}>\n{code}\n</program-{mark}>"


class _Silencer(ast.NodeTransformer):
    """Takes prose out of strings and names; equal names stay equal."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._equation = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in _EQUATION_CALLS:
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    argument.value = _equation(argument.value)
                    argument.kind = "kept"
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.kind == "kept":
            node.kind = None
        elif isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else ""
            if not _KEYWORD.fullmatch(text) or _speaks(text):
                node.value = "…"
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("…")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._quiet(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._quiet(node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._quiet(node.arg)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg is not None:
            node.arg = self._quiet(node.arg)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._quiet(node.name)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._quiet(node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._quiet(node.name)
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        if node.asname is not None:
            node.asname = self._quiet(node.asname)
        return node

    def _quiet(self, name: str) -> str:
        if not _speaks(name):
            return name
        return self._names.setdefault(name, f"name_{len(self._names) + 1}")


def _speaks(name: str) -> bool:
    """Whether a name talks about judging: two such words, one of them strong."""
    words = [word.lower() for word in _WORD.findall(name)]
    joined = {a + b for a, b in pairwise(words)}  # "L", "5"
    found = {*words, *joined}
    return bool(found & _STRONG) and len(found & _JUDGING) >= 2


def _equation(text: str) -> str:
    words = re.findall(r"[A-Za-z]+", text)
    if _EQUATION.fullmatch(text) and not {word.lower() for word in words} & _STRONG:
        return text
    return "…"
