"""What a program mentions, statement by statement, found in one walk over its tree.

The shape-blind form asks these questions of every function and class again and again. A walk for
each question was half of its time.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

REGISTERING = ("register_buffer", "register_parameter")

_REPEATING = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_NO_NODES = ("ctx", "id", "attr", "arg", "op", "ops", "name", "asname", "module", "type_comment")
_KINDS = [
    kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)
]
_FIELDS = {kind: tuple(name for name in kind._fields if name not in _NO_NODES) for kind in _KINDS}
_STATEMENTS = frozenset(kind for kind in _KINDS if issubclass(kind, ast.stmt))


@dataclass
class Survey:
    """Names and attributes of a whole program; `spans` says which of them a statement holds."""

    names: list[tuple[str, bool]] = field(default_factory=list)
    """Every name, and whether it is read there (or else set or deleted)."""
    attributes: list[str] = field(default_factory=list)
    """Attributes that are set: `self.a = …` or `self.register_buffer("a", …)`."""
    inner_imports: bool = False
    """Whether an import stands below the top level."""
    spans: dict[ast.AST, tuple[int, int, int, int, int, int]] = field(default_factory=dict)

    def names_in(self, statement: ast.stmt) -> Sequence[tuple[str, bool]]:
        """The names of a statement and of all that it contains."""
        start, end = self.spans[statement][:2]
        return self.names[start:end]

    def attributes_in(self, statement: ast.stmt) -> Sequence[str]:
        """The attributes that a statement, or what it contains, sets."""
        start, end = self.spans[statement][2:4]
        return self.attributes[start:end]

    def repeats_in(self, statement: ast.stmt) -> bool:
        """Whether a lambda or a comprehension is in it."""
        start, end = self.spans[statement][4:]
        return end > start


def survey(tree: ast.Module) -> Survey:
    """Walks over the tree once. Siblings come last to first: no question depends on their order."""
    found = Survey()
    names, attributes, spans = found.names, found.attributes, found.spans
    repeating = 0
    top = {id(node) for node in tree.body}
    open_statements: list[tuple[ast.AST, int, int, int]] = []
    waiting: list[Any] = list(tree.body)  # not recursive: trees may be deeper than Python's stack
    while waiting:
        node = waiting.pop()
        if node is None:  # the innermost open statement ends here
            statement, names_from, attributes_from, repeats_from = open_statements.pop()
            spans[statement] = (
                names_from, len(names), attributes_from, len(attributes), repeats_from, repeating,
            )  # fmt: skip
            continue
        kind = type(node)
        if kind is ast.Name:
            names.append((node.id, type(node.ctx) is ast.Load))
            continue
        if kind is ast.Attribute:
            if type(node.ctx) is ast.Store:
                attributes.append(node.attr)
            waiting.append(node.value)
            continue
        if kind is ast.Constant:
            continue
        if kind in _STATEMENTS:
            open_statements.append((node, len(names), len(attributes), repeating))
            waiting.append(None)
            if kind in (ast.Import, ast.ImportFrom) and id(node) not in top:
                found.inner_imports = True
        elif kind is ast.Call:
            attributes += registered(node)
        elif kind in _REPEATING:
            repeating += 1
        inside = node.__dict__
        for name in _FIELDS[kind]:
            value = inside.get(name)
            if type(value) is list:
                waiting += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)
    return found


def registered(call: ast.Call) -> list[str]:
    """The attribute that `self.register_buffer("a", …)` sets."""
    function = call.func
    if type(function) is ast.Attribute and function.attr in REGISTERING and call.args:
        name = call.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return [name.value]
    return []
