"""Parses hostile text: whatever it holds, there is a tree or a reason."""

import ast
import re
import warnings
from dataclasses import dataclass

from pipeline.source.trees import children

MAX_CHARACTERS = 4_000_000
MAX_DEPTH = 90
"""Brackets or indents. Python's own tokeniser stops at 200 and 100; trees near it overflow walkers."""
MAX_CHAIN = 400
"""Nested nodes of a tree. Python recurses over them and has 1,000 frames."""


@dataclass(frozen=True)
class Unparsable(Exception):
    """Why a text gives no tree: a reason code and one line for a person."""

    reason: str
    detail: str


def parse(text: str) -> ast.Module:
    """Gives the text's tree, not too deep for a recursive walk.

    Raises:
        Unparsable: syntax_error, too_deep or too_large.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unparsable("too_large", f"{len(text):,} characters")
    if _bracket_depth(text) > MAX_DEPTH:
        raise Unparsable("too_deep", f"more than {MAX_DEPTH} nested brackets")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            tree = ast.parse(text)
    except (RecursionError, MemoryError) as error:
        raise Unparsable("too_deep", f"the parser gave up: {type(error).__name__}") from error
    except (SyntaxError, ValueError) as error:
        raise Unparsable("syntax_error", _one_line(error)) from error
    if _tree_depth(tree) > MAX_CHAIN:
        raise Unparsable("too_deep", f"more than {MAX_CHAIN} nested nodes")
    return tree


def _bracket_depth(text: str) -> int:
    """The deepest nesting of brackets, strings and comments roughly left out."""
    depth = deepest = 0
    for match in re.finditer(
        r"#[^\n]*|'''|\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|[(\[{]|[)\]}]", text
    ):
        character = match[0]
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest


def _tree_depth(tree: ast.AST) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level and depth <= MAX_CHAIN:
        level = [child for node in level for child in children(node)]
        depth += 1
    return depth


def _one_line(error: Exception) -> str:
    text = str(error).replace("\n", " ")
    return text[:200]
