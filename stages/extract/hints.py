"""What the source says about forward's inputs: docstrings, unpacking, annotations."""

import ast
import re
from typing import Any

from pipeline.source.trees import walk
from stages.extract.closure import Closure

_ROLES = {
    "b": "batch", "n": "batch", "bs": "batch", "batch": "batch", "batch_size": "batch", "bsz": "batch", "nb": "batch",
    "h": "height", "height": "height", "hh": "height", "w": "width", "width": "width", "ww": "width",
    "l": "length", "t": "length", "s": "length", "seq_len": "length", "seqlen": "length", "length": "length", "time": "length",
    "sequence_length": "length", "seq_length": "length", "tgt_len": "length", "q_len": "length", "slen": "length",
    "d": "depth?", "heads": "heads", "num_heads": "heads", "head_dim": "head_dim",
}  # fmt: skip


def input_hints(forward: ast.FunctionDef | None, more: str = "") -> dict[str, list[dict[str, Any]]]:
    """For each parameter of `forward`, likely forms, the surest first."""
    if forward is None:
        return {}
    names = [
        one.arg for one in [*forward.args.posonlyargs, *forward.args.args, *forward.args.kwonlyargs]
    ][1:]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    text = (ast.get_docstring(forward) or "") + "\n" + more
    for name in names:
        for shape in _documented(text, name):
            _add(found[name], shape, "docstring")
    for name, shape in _unpacked(forward, names):
        _add(found[name], shape, "unpacking")
    for name, shape in _patterned(forward, names):
        _add(found[name], shape, "einops pattern")
    for name in _sides(forward, names):
        found[name].append({"source": "(8, 10)", "evidence": "unpacking"})
    for one in [*forward.args.args, *forward.args.kwonlyargs]:
        if one.arg in found and one.annotation is not None:
            hint = _annotated(ast.unparse(one.annotation))
            if hint is not None:
                found[one.arg].append(hint)
    return {name: hints for name, hints in found.items() if hints}


def _add(hints: list[dict[str, Any]], axes: list[str], evidence: str) -> None:
    if 0 < len(axes) <= 6:
        hint = {
            "roles": [_role(axis, index, len(axes)) for index, axis in enumerate(axes)],
            "evidence": evidence,
        }
        if hint not in hints:
            hints.append(hint)


def _role(axis: str, index: int, rank: int) -> str | int:
    plain = axis.strip(" *'\"`").lower()
    if plain.isdigit():
        return int(plain) if int(plain) > 0 else 1
    role = _ROLES.get(plain, plain)
    if role == "depth?":
        return "depth" if rank == 5 else "d"
    if role == "batch" and index > 0:
        return "length" if rank >= 3 and index == 1 else plain
    if index == 0 and rank >= 2 and role in ("_", "length") and rank > 2:
        return "batch"
    return role or f"axis{index}"


def _documented(text: str, name: str) -> list[list[str]]:
    """Shapes such as `x: (B, C, H, W)` or `x (Tensor): … shape [B, N, C]`."""
    shapes = []
    for match in re.finditer(
        rf"(?m)^\s*[-*]?\s*`*{re.escape(name)}`*\b[^\n]*(?:\n\s+[^\n:]*)?", text
    ):
        for inner in re.findall(
            r"[(\[{]\s*`*((?:[\w*.]+\s*,\s*)+[\w*.]+)\s*,?`*\s*[)\]}]", match[0]
        ):
            axes = [axis.strip() for axis in inner.split(",")]
            if all(re.fullmatch(r"[A-Za-z_]\w*|\d+", axis) for axis in axes) and not {
                "optional",
                "Tensor",
            } & set(axes):
                shapes.append(axes)
    return shapes[:2]


def _unpacked(forward: ast.FunctionDef, names: list[str]) -> list[tuple[str, list[str]]]:
    """`b, c, h, w = x.shape`, before x is assigned anew."""
    found = []
    assigned: set[str] = set()
    for statement in forward.body:
        for node in walk(statement):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value):
                    owner = _shape_owner(value)
                    match value:
                        case ast.Tuple(elts=[ast.Starred(value=first), *others]):
                            owner = _shape_owner(first)  # b, n, h = *x.shape, self.heads
                            elements = elements[: len(elements) - len(others)]
                    if (
                        owner in names
                        and owner not in assigned
                        and not any(isinstance(one, ast.Starred) for one in elements)
                    ):
                        axes = [one.id if isinstance(one, ast.Name) else "_" for one in elements]
                        found.append((owner, axes))
        for node in walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                assigned.add(node.id)
    return found


_PATTERNS = ("rearrange", "reduce", "repeat")


def _patterned(forward: ast.FunctionDef, names: list[str]) -> list[tuple[str, list[str]]]:
    """The left side of `rearrange(x, "b c (h p) w -> …")`; a group is named by its first axis."""
    found = []
    assigned: set[str] = set()
    for statement in forward.body:
        for node in walk(statement):
            match node:
                case ast.Call(
                    func=ast.Name(id=function) | ast.Attribute(attr=function),
                    args=[ast.Name(id=name), ast.Constant(value=str() as pattern), *_],
                ) if function in _PATTERNS and name in names and name not in assigned:
                    left = pattern.partition("->")[0]
                    groups = re.findall(r"\(\s*(\w+)[^)]*\)|(\w+)", left)
                    if "..." not in left:
                        found.append((name, [one or other for one, other in groups]))
        for node in walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                assigned.add(node.id)
    return found


def _sides(forward: ast.FunctionDef, names: list[str]) -> list[str]:
    """Parameters unpacked as `h, w = size`: two numbers."""
    return [
        node.value.id
        for node in walk(forward)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
        and isinstance(node.targets[0], ast.Tuple)
        and [_side(one) for one in node.targets[0].elts] == ["height", "width"]
    ]


def _side(node: ast.expr) -> str | int:
    return _role(node.id, 0, 2) if isinstance(node, ast.Name) else ""


def _shape_owner(value: ast.expr) -> str:
    match value:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
    return ""


def _annotated(text: str) -> dict[str, Any] | None:
    plain = re.sub(r"\s|\|None|Optional\[|torch\.", "", text)
    if plain in ("int", "int]"):
        return {"source": "8", "evidence": "annotation"}
    if plain in ("float", "float]"):
        return {"source": "0.5", "evidence": "annotation"}
    if plain in ("bool", "bool]"):
        return {"source": "False", "evidence": "annotation"}
    whole = re.fullmatch(
        r"(?:[lL]ist|[tT]uple|Sequence|Iterable)\[((?:int,?)+)(?:\.\.\.)?\]", plain
    )
    if whole or plain in ("Size", "Size]"):
        three = whole is not None and whole[1].count("int") == 3
        return {"source": "(8, 8, 10)" if three else "(8, 10)", "evidence": "annotation"}
    if "LongTensor" in plain or "IntTensor" in plain:
        return {"roles": ["batch", "length"], "dtype": "int64", "evidence": "annotation"}
    if "BoolTensor" in plain:
        return {"roles": ["batch", "length"], "dtype": "bool", "evidence": "annotation"}
    match = re.fullmatch(r"[tT]uple\[((?:Tensor|FloatTensor),?)+\]", plain)
    if match:
        count = plain.count("Tensor")
        item = {"roles": ["batch", "length", "d"], "evidence": "annotation"}
        return {"kind": "tuple", "items": [item] * count, "evidence": "annotation"}
    if re.fullmatch(r"(List|list|Sequence|Iterable)\[Tensor\]", plain):
        item = {"roles": ["batch", "c", "height", "width"], "evidence": "annotation"}
        return {"kind": "list", "items": [item] * 2, "evidence": "annotation"}
    return None


def soft_attributes(closure: Closure) -> set[str]:
    """Attributes that are only read as `getattr(config, name, default)`: they may be missing."""
    soft: set[str] = set()
    hard: set[str] = set()
    for piece in closure.pieces.values():
        for node in walk(piece.node):
            match node:
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr"),
                    args=[_, ast.Constant(value=str() as name), *_],
                ):
                    soft.add(name)
                case ast.Attribute(attr=attribute):
                    hard.add(attribute)
    return soft - hard
