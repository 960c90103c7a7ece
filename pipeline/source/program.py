"""A problem's sizes: named integer constants at the top of the program. Shape is data, not text."""

import ast
from collections.abc import Mapping


def sizes_of(code: str) -> dict[str, int]:
    """The program's sizes: module-level `NAME = <integer>` with an upper-case name, in order."""
    return {name: value for _, name, value in _assignments(code)}


def apply_sizes(code: str, sizes: Mapping[str, int]) -> str:
    """The same program at other sizes; everything else stays byte for byte.

    Raises:
        KeyError: the program has no size of that name.
    """
    lines = code.split("\n")  # as ast counts them; str.splitlines would also split at form feeds
    found = {name: node for node, name, _ in _assignments(code)}
    for name, value in sizes.items():
        node = found[name].value
        line = lines[node.lineno - 1].encode()
        assert node.end_col_offset is not None
        changed = line[: node.col_offset] + str(int(value)).encode() + line[node.end_col_offset :]
        lines[node.lineno - 1] = changed.decode()
    return "\n".join(lines)


def _assignments(code: str) -> list[tuple[ast.Assign, str, int]]:
    found = []
    for node in ast.parse(code).body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value=int() as value)
            ) if name.isupper() and not isinstance(value, bool):
                found.append((node, name, value))
    return found
