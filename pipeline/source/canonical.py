"""The canonical form of a program: parse, drop comments and docstrings, unparse.

Identity comes from content: two texts that differ in comments, docstrings or layout are one
problem. Same rule as arXiv 2602.11000, section on canonicalisation.
"""

import ast
import hashlib

from pipeline.source.trees import walk

ID_DIGITS = 32  # 128 bits: no collision is expected below 10^18 problems


def canonical_form(code: str) -> str:
    """The program without comments, docstrings and layout.

    Raises:
        SyntaxError: the text is not Python.
    """
    return canonical_of(ast.parse(code))


def canonical_of(tree: ast.Module) -> str:
    """The canonical form of a program that is parsed already; the tree loses its bare strings."""
    drop_bare_strings(tree)
    return ast.unparse(tree)


def drop_bare_strings(tree: ast.Module) -> None:
    """Takes docstrings, and strings that stand for comments, out of a tree."""
    for node in walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = _without_docstring(node.body)


def problem_id(code: str) -> str:
    """Identity of a program: the first 32 hex digits of the sha256 of its canonical form."""
    return digest(canonical_form(code))[:ID_DIGITS]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    # Bare strings anywhere are dropped, not only the first: authors use them as comments.
    kept = [statement for statement in body if not _is_bare_string(statement)]
    return kept or [ast.Pass()]


def _is_bare_string(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
