"""Answers questions about versions, as torch from 2.11 on would."""

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from packaging.version import InvalidVersion, Version

from stages.extract.resolve import Local, Module, Resolver

TORCH = Version("2.11")
"""The oldest torch that pyproject.toml allows: what a program may count on."""

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def answer(resolver: Resolver, module: Module, node: ast.Call | ast.Compare) -> bool | None:
    """What `is_torch_version(">=", "2.1")` or `Version(torch.__version__) < Version("1.9")` gives.

    None if the node asks something else, or for a version that is no literal.
    """
    match node:
        case ast.Call(
            func=ast.Name(id="is_torch_version"), args=[ast.Constant(value=str() as sign), wanted]
        ):
            return _compared(sign, _text(resolver, module, wanted))
        case ast.Compare(left=left, ops=[sign], comparators=[wanted]) if _is_torchs(left):
            return _compared(_COMPARED.get(type(sign), ""), _text(resolver, module, wanted))
    return None


def _compared(sign: str, text: str | None) -> bool | None:
    if text is None or sign not in _OPERATORS:
        return None
    try:
        return _OPERATORS[sign](TORCH, Version(text))
    except InvalidVersion:
        return None


def _is_torchs(node: ast.expr) -> bool:
    """`torch.__version__`, also parsed, split at a plus sign or without its tail."""
    text = ast.unparse(node)
    return bool(
        re.fullmatch(
            r"(?:[\w.]*(?:parse|Version)\()?torch\.__version__(?:\.split\('\+'\)\[0\])?\)?", text
        )
    )


def _text(resolver: Resolver, module: Module, node: ast.expr) -> str | None:
    """A literal version, also parsed, or a constant of the file that holds one."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Call(args=[inner]) if ast.unparse(node.func).split(".")[-1] in (
            "parse",
            "Version",
            "LooseVersion",
        ):
            return _text(resolver, module, inner)
        case ast.Name(id=name):
            origin = resolver.find(module, name)
            if isinstance(origin, Local) and isinstance(origin.statement, ast.Assign):
                value = origin.statement.value
                return value.value if _is_text(value) else None
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
