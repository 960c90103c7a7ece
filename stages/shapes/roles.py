"""What each size constant counts: by the words of its name, and by where the program uses it."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from stages.shapes.table import Table

FEW = 4  # colours (1, 3, 4), coordinates (2, 3), corners of a box (4)


@dataclass(frozen=True)
class Axis:
    """One size constant."""

    name: str
    value: int
    role: str  # batch, sequence, spatial, width, heads, vocabulary, classes, structure
    kind: str  # data (scales freely), width (all by one factor), vocabulary, fixed


def axes_of(code: str, sizes: Mapping[str, int], table: Table) -> list[Axis]:
    """All size constants of a program, in its order.

    A constant that only get_inputs uses belongs to the data, whatever its name: the first is taken
    for the batch, an unknown one for a length. One that the model sees belongs to the model, unless
    it is a length. A count as small as that of colours or coordinates is nobody's to change.
    """
    by_model, by_inputs = _users(code)
    found = []
    for position, (name, value) in enumerate(sizes.items()):
        role = _role(name, table)
        kind = table.kinds.get(role, "fixed")
        if name in by_inputs and name not in by_model and kind not in ("data", "width"):
            role, kind = ("batch" if position == 0 else "sequence"), "data"
        unused = name not in by_inputs and name not in by_model
        if unused or (value <= FEW and not (role == "batch" and kind == "data")):
            kind = "fixed"
        found.append(Axis(name, value, role, kind))
    return found


def must_stay(name: str, table: Table) -> bool:
    """Whether a constant's own word says that it is the program's structure, not a size of its data.

    Unlike for the rules, an unknown word says nothing: who reads the program may know better.
    """
    role = _known_role(name, table)
    return role is not None and table.kinds[role] == "fixed"


def _role(name: str, table: Table) -> str:
    return _known_role(name, table) or "structure"


def _known_role(name: str, table: Table) -> str | None:
    words = [word for word in re.split(r"[_\d]+", name) if word]
    for word in reversed(words):
        if word in table.words:
            return table.words[word]
    return None


def _users(code: str) -> tuple[set[str], set[str]]:
    """(names that the model's side reads, names that get_inputs reads)."""
    by_model: set[str] = set()
    by_inputs: set[str] = set()
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        is_inputs = isinstance(node, ast.FunctionDef) and node.name == "get_inputs"
        if is_inputs:
            by_inputs |= names
        elif not _is_size(node):
            by_model |= names
    return by_model, by_inputs


def is_first(code: str) -> frozenset[str]:
    """Constants of get_inputs alone that are the first dimension wherever a tensor has them."""
    by_model, _ = _users(code)
    firsts: set[str] = set()
    others = set(by_model)
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == "get_inputs":
            for call in ast.walk(node):
                if isinstance(call, ast.Call):
                    shape = next((a.elts for a in call.args if isinstance(a, ast.Tuple)), call.args)
                    names = [one.id if isinstance(one, ast.Name) else "" for one in shape]
                    firsts |= set(names[:1])
                    others |= set(names[1:])
    return frozenset(firsts - others - {""})


def _is_size(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
