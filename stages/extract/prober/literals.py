"""What the code itself compares a value with: the likeliest values of an argument of that name."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

DULL = frozenset({"''", "'none'", "'None'", "'identity'", "'linear'"})
"""Strings that mostly switch something off: taken last."""


def compared_literals(tree: ast.AST, names: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """By name: literals as source text, in the order of the code.

    Strings of `mode == "same"`, and all that `mode in (…)`, `TABLE[mode]` and `match mode` hold;
    an attribute such as `self.mode` counts as its last name. `names` are the program's globals:
    tables are looked up there.
    """
    found: dict[str, dict[str, None]] = {}
    for node in ast.walk(tree):
        for name, literals in _compared(node, names):
            found.setdefault(name, {}).update(dict.fromkeys(literals))
    return {
        name: tuple(sorted(literals, key=lambda one: one in DULL))
        for name, literals in found.items()
        if literals
    }


def _compared(node: ast.AST, names: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, ast.Constant) and isinstance(other.value, str):
                    yield _name(one), [repr(other.value)]
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            yield _name(left), _held(right, names)
        case ast.Subscript(value=table, slice=key) if _name(key):
            yield _name(key), _held(table, names, tables_only=True)
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]) if _name(key):
            yield _name(key), _held(table, names, tables_only=True)
        case ast.Match(subject=subject, cases=cases):
            values = [
                inner.value.value
                for case in cases
                for inner in ast.walk(case.pattern)
                if isinstance(inner, ast.MatchValue) and isinstance(inner.value, ast.Constant)
            ]
            yield _name(subject), _literals(values)


def _name(node: ast.expr) -> str:
    """The last name of `mode`, `self.mode` or `mode.lower()`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "upper" | "strip")):
            return _name(inner)
    return ""


def _held(node: ast.expr, names: Mapping[str, Any], tables_only: bool = False) -> list[str]:
    """What a written-out table, list, tuple or set holds, or a global one."""
    match node:
        case ast.Dict(keys=keys):
            return _literals([one.value for one in keys if isinstance(one, ast.Constant)])
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) if not tables_only:
            return _literals([one.value for one in items if isinstance(one, ast.Constant)])
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return _literals([one.arg for one in keywords])
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            return _held(inner, names)
        case ast.Name(id=name):
            value = names.get(name)
            if isinstance(value, dict) or (
                isinstance(value, list | tuple | set | frozenset) and not tables_only
            ):
                return _literals(list(value))
    return []


def _literals(values: list[Any]) -> list[str]:
    return [repr(one) for one in values if type(one) in (str, int)][:12]


def is_number(source: str) -> bool:
    return source.lstrip("-").replace(".", "", 1).isdigit()
