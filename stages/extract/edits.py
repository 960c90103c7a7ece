"""Changes to the author's code, each with words for the row's `edits`.

An edit replaces the text between two positions. What it covers is no longer read, so that a
dropped decorator's import is not needed either.
"""

import ast
import itertools
from dataclasses import dataclass, field

from pipeline.source.trees import walk
from stages.extract import arrays, einops, versions
from stages.extract.names import (
    ACCELERATOR,
    AVAILABILITY,
    BARE_CALLS,
    HARMLESS_DECORATORS,
    HARMLESS_OWNERS,
    KEPT_DECORATORS,
    LOG_CALLS,
    LOGGERS,
    MATH,
    MODULE_BASES,
    PLAIN_BASES,
)
from stages.extract.resolve import ALLOWED, Library, Local, Module, Outside, Resolver

Position = tuple[int, int]
_TORCH = ("import torch",)
_EINOPS = frozenset((*einops.FUNCTIONS, *einops.LAYERS, *einops.PACKING, "einsum"))


@dataclass(frozen=True)
class Edit:
    """Replaces what lies between two positions (line, byte column), as ast counts them."""

    start: Position
    end: Position
    text: str
    words: str = ""
    needs: tuple[str, ...] = ()  # import lines that the new text needs
    stand_in: str = ""  # a definition of ours that the new text needs


@dataclass
class Edits:
    """Edits of one piece; none overlaps another."""

    items: list[Edit] = field(default_factory=list)

    def __iadd__(self, other: "Edits") -> "Edits":
        for edit in other.items:
            self.add(edit)
        return self

    def add(self, edit: Edit) -> None:
        """The outermost of two overlapping edits stays; what is put in after one overlaps nothing."""
        for old in self.items:
            if edit.start == edit.end == old.end:
                continue
            if old.start <= edit.start and edit.end <= old.end:
                return
        self.items = [
            old for old in self.items if not (edit.start <= old.start and old.end <= edit.end)
        ]
        self.items.append(edit)

    def covers(self, node: ast.expr) -> bool:
        start = (node.lineno, node.col_offset)
        return any(edit.start <= start < edit.end for edit in self.items)


def span(node: ast.expr | ast.stmt) -> tuple[Position, Position]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def replaced(
    node: ast.expr | ast.stmt,
    text: str,
    words: str = "",
    needs: tuple[str, ...] = (),
    stand_in: str = "",
) -> Edit:
    start, end = span(node)
    return Edit(start, end, text, words, needs, stand_in)


def edit_class(resolver: Resolver, module: Module, node: ast.ClassDef) -> Edits:
    """Bases and decorators without part in the computation, and statements of the body."""
    edits = Edits()
    _decorators(resolver, module, node, edits)
    _bases(resolver, module, node, edits)
    for statement in node.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            edits += edit_node(resolver, module, statement)
    return edits


_EDITED = (
    ast.If,
    ast.Call,
    ast.Compare,
    ast.Attribute,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def edit_node(resolver: Resolver, module: Module, node: ast.stmt) -> Edits:
    """Logging, availability questions, numpy on numbers and the like, anywhere inside."""
    edits = Edits()
    _quiet(module, node, edits)
    if module.has_numpy:
        _arrays(resolver, module, node, edits)
    for child in walk(node):
        if not isinstance(child, _EDITED):
            continue
        match child:
            case ast.If(test=test) if _is_false(resolver, module, test):
                _dead_branch(module, child, edits)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _decorators(resolver, module, child, edits)
            case ast.Call() | ast.Compare() if (
                known := versions.answer(resolver, module, child)
            ) is not None:
                words = f"{ast.unparse(child)} is {known} from torch {versions.TORCH} on"
                edits.add(replaced(child, str(known), words))
            case ast.Call(func=ast.Name(id="optional_import")):
                _optional(resolver, module, child, edits)
            case ast.Call(func=ast.Name(id=name)) if answer := _about_the_machine(name):
                edits.add(replaced(child, answer, f"{name}() is {answer}"))
            case ast.Call(func=ast.Attribute(attr=attribute)) if attribute in (
                "is_scripting",
                "is_tracing",
                "is_compiling",
            ):
                edits.add(replaced(child, "False", f"{attribute}() is False"))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="ALL_ATTENTION_FUNCTIONS"), attr="get_interface" | "get"
                ),
                args=[_, default],
            ):
                start, end = span(child)
                inner_start, inner_end = span(default)
                edits.add(Edit(start, inner_start, "", "the eager attention of the file is used"))
                edits.add(Edit(inner_end, end, ""))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="os")
                    | ast.Attribute(value=ast.Name(id="os"), attr="environ"),
                    attr="getenv" | "get",
                ),
                args=[name, *default],
            ):
                value = ast.unparse(default[0]) if default else "None"
                words = f"the environment variable {ast.unparse(name)} is not set"
                edits.add(replaced(child, value, words))
            case ast.Attribute(value=ast.Name(id="sys"), attr="platform"):
                edits.add(replaced(child, '"linux"', 'sys.platform is "linux"'))
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                _no_arrays(resolver, module, child, kinds, edits)
            case ast.Call(func=ast.Name() | ast.Attribute()) if _is_einops(resolver, module, child):
                _einops(child, edits)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id=name), attr="random"),
                    attr="random" | "rand" | "uniform" as draw,
                ) as called,
                keywords=[],
            ) if len(child.args) == (2 if draw == "uniform" else 0):
                origin = resolver.find(module, name)
                if isinstance(origin, Outside) and origin.what == "numpy":
                    new = "random.uniform" if draw == "uniform" else "random.random"
                    words = f"{ast.unparse(called)} is {new}"
                    edits.add(replaced(called, new, words, ("import random",)))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in MATH:
                origin = resolver.find(module, name)
                if isinstance(origin, Outside) and origin.what == "numpy":
                    new = MATH[attribute]
                    needs = (f"import {new.split('.')[0]}",) if "." in new else ()
                    edits.add(replaced(child, new, f"{name}.{attribute} is {new}", needs))
            case _:
                pass
    return edits


def _arrays(resolver: Resolver, module: Module, node: ast.stmt, edits: Edits) -> None:
    """numpy on arrays, where each call has a twin."""

    def is_numpy(name: str) -> bool:
        origin = resolver.find(module, name)
        return isinstance(origin, Outside) and origin.what == "numpy"

    known = arrays.Arrays(node, is_numpy)
    for child in walk(node):
        match child:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if is_numpy(
                owner
            ):
                _array_call(known, child, f"{owner}.{name}", name, edits)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch"), attr="from_numpy"), args=[_]
            ):
                edits.add(replaced(child.func, "", "torch.from_numpy(x) is x: no numpy here"))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="torch"), attr="Tensor" | "FloatTensor" as name
                ),
                args=[one],
            ) if known.holds(one):
                words = f"torch.{name} of an array is as_floats"
                edits.add(replaced(child.func, "as_floats", words, _TORCH, "as_floats"))
            case ast.Call(func=ast.Attribute(value=value, attr="astype"), args=[kind]) if (
                new := known.type_of(kind)
            ):
                edits.add(
                    Edit(span(value)[1], span(child)[1], f".to({new})", "astype is to", _TORCH)
                )
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if (
                name in arrays.METHODS and known.holds(value)
            ):
                bare = name == "transpose" and not child.args
                new = ".T" if bare else f".{arrays.METHODS[name]}"
                end = span(child if bare else child.func)[1]
                edits.add(Edit(span(value)[1], end, new, f"{name} of an array is {new[1:]}"))
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                name in arrays.TYPES and name not in ("int", "float", "bool") and is_numpy(owner)
            ):
                new = arrays.TYPES[name]
                edits.add(replaced(child, new, f"{owner}.{name} is {new}", _TORCH))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                for one in (left, right):
                    if known.holds(one) and not known.is_narrow(one):
                        _widened(known, one, edits)
                        break
            case _:
                pass


def _array_call(known: arrays.Arrays, call: ast.Call, text: str, name: str, edits: Edits) -> None:
    """A call of numpy's that makes or takes an array."""
    takes = any(known.holds(one) for one in call.args)
    new, needs, stand_in = "", _TORCH, ""
    if name == "arange" and known.is_counted(call):
        new, needs = "range", ()
    elif name in arrays.MADE:
        new = stand_in = "np_array" if name == "asarray" else f"np_{name}"
        needs = ("import math", "import torch") if name == "arange" else _TORCH
    elif takes and (name in arrays.SAME or name in arrays.RENAMED):
        new = f"torch.{arrays.RENAMED.get(name, name)}"
    elif takes and name in arrays.WIDE and not known.is_narrow(call):
        new = f"torch.{arrays.WIDE[name]}"
        _widened(known, next(one for one in call.args if known.holds(one)), edits)
    elif takes and name in ("max", "min") and len(call.args) == 1 and not call.keywords:
        new = f"torch.{name}"
    if not new:
        return
    edits.add(replaced(call.func, new, f"{text} is {new}", needs, stand_in))
    for one in call.keywords:
        if one.arg == "dtype" and (kind := known.type_of(one.value)):
            edits.add(replaced(one.value, kind))
    if name == "meshgrid" and all(one.arg != "indexing" for one in call.keywords):
        line, column = span(call)[1]
        edits.add(Edit((line, column - 1), (line, column - 1), ', indexing="xy"'))


def _widened(known: arrays.Arrays, node: ast.expr, edits: Edits) -> None:
    """numpy computes what is no whole number in float64, torch in float32."""
    match node:
        case ast.BinOp(left=left, right=right):
            _widened(known, left if known.holds(left) else right, edits)
        case ast.UnaryOp(operand=operand):
            _widened(known, operand, edits)
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            edits.add(Edit(span(node)[1], span(node)[1], ".double()"))
        case _:
            pass


def _no_arrays(
    resolver: Resolver, module: Module, call: ast.Call, kinds: ast.expr, edits: Edits
) -> None:
    """`isinstance(x, np.ndarray)`: a program holds no arrays of numpy."""

    def is_numpys(kind: ast.expr) -> bool:
        match kind:
            case ast.Attribute(value=ast.Name(id=name)):
                origin = resolver.find(module, name)
                return isinstance(origin, Outside) and origin.what == "numpy"
        return False

    if is_numpys(kinds):
        edits.add(replaced(call, "False", f"{ast.unparse(call)} is False: no numpy here"))
    elif isinstance(kinds, ast.Tuple) and any(is_numpys(one) for one in kinds.elts):
        left = ast.Tuple([one for one in kinds.elts if not is_numpys(one)], ast.Load())
        words = f"{ast.unparse(kinds)} without numpy's"
        edits.add(replaced(kinds, ast.unparse(left), words))


def late_import_lines(module: Module, node: ast.stmt, late: frozenset[str]) -> Edits:
    """Cuts imports inside functions whose names, all in `late`, stand in the program."""
    edits = Edits()
    for holder in walk(node):
        for field_name in ("body", "orelse", "finalbody"):
            body = getattr(holder, field_name, None)
            if isinstance(body, list):
                _cut_imports(module, body, late, edits)
    return edits


def _cut_imports(module: Module, body: list[ast.stmt], late: frozenset[str], edits: Edits) -> None:
    cut = [
        one
        for one in body
        if isinstance(one, ast.ImportFrom)
        and one.level > 0
        and all((alias.asname or alias.name) in late for alias in one.names)
    ]
    for index, one in enumerate(cut):
        words = f"what a function imports stands in the program: {ast.unparse(one)[:60]}"
        needs_pass = len(cut) == len(body) and index == 0
        edits.add(replaced(one, "pass", words) if needs_pass else whole_lines(module, one, words))


def _is_false(resolver: Resolver, module: Module, test: ast.expr) -> bool:
    """Whether a condition asks only for what a plain machine with a new torch answers with no."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(_is_false(resolver, module, one) for one in parts)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return all(_is_false(resolver, module, one) for one in parts)
        case ast.Call(func=ast.Name(id=name)) if _about_the_machine(name):
            return _about_the_machine(name) == "False"
        case ast.Call() | ast.Compare():
            return versions.answer(resolver, module, test) is False
    return False


def _dead_branch(module: Module, node: ast.If, edits: Edits) -> None:
    """What such a condition guards is not part of the program."""
    first, last = node.body[0], node.body[-1]
    words = f"never runs: if {ast.unparse(node.test)[:60]}"
    # To the end of its last line, as far as dropped logging inside reaches.
    edits.add(Edit(span(first)[0], (span(last)[1][0] + 1, 0), "pass\n", words))


def _about_the_machine(name: str) -> str:
    """The answer to a question such as `is_torch_npu_available()`: a plain machine with torch."""
    if name in ("is_torch_available", "is_torch_greater_or_equal"):
        return "True"
    if AVAILABILITY.fullmatch(name) and ("torch" not in name or ACCELERATOR.search(name)):
        return "False"
    return ""


def _is_einops(resolver: Resolver, module: Module, call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _EINOPS:
            parts = ast.unparse(call.func).split(".")
        case _:
            return False
    origin = resolver.find(module, parts[0])
    if origin is None:
        return parts[0] in ("rearrange", "Rearrange", "einops") or _has_pattern(call)
    if isinstance(origin, Local):
        return _optionally_imported(origin.statement).split(".")[0] == "einops"
    return isinstance(origin, Outside) and origin.what.split(".")[0] == "einops"


def _has_pattern(call: ast.Call) -> bool:
    """A text with an arrow among its arguments: nobody else's `repeat` and `reduce` take one."""
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, str) and "->" in one.value
        for one in call.args
    )


def _optionally_imported(statement: ast.stmt) -> str:
    """The module of `thing, has_it = optional_import("module", …)`; else an empty text."""
    match statement:
        case (
            ast.Assign(value=ast.Call() as call)
            | ast.Assign(value=ast.Subscript(value=ast.Call() as call))
        ):
            match call:
                case ast.Call(
                    func=ast.Name(id="optional_import"),
                    args=[ast.Constant(value=str() as name), *_],
                ):
                    return name
    return ""


def _optional(resolver: Resolver, module: Module, call: ast.Call, edits: Edits) -> None:
    """`optional_import("module", name="thing")` gives (thing, True), or (None, False) without it."""
    given = {one.arg: one.value for one in call.keywords}
    match call.args:
        case [ast.Constant(value=str() as wanted)] if given.keys() <= {"name"}:
            pass
        case _:
            return
    root = wanted.split(".")[0]
    name = given.get("name")
    if name is not None and not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return
    if root == "torch":
        thing = f"{wanted}.{name.value}" if isinstance(name, ast.Constant) else wanted
        words = f"{thing} is imported, not optionally"
        edits.add(replaced(call, f"({thing}, True)", words, (f"import {wanted}",)))
    elif root not in ALLOWED and (wanted.endswith("._C") or not resolver.is_inside(wanted)):
        here = root == "einops"  # its calls are written as tensor methods
        edits.add(replaced(call, f"(None, {here})", f"{wanted} is an optional import"))


def _einops(call: ast.Call, edits: Edits) -> None:
    """Writes an einops call as tensor methods where that can be done."""
    name = ast.unparse(call.func).split(".")[-1]
    if name == "einsum":
        _einsum(call, edits)
        return
    if name in einops.PACKING:
        words = f"einops.{name} is {name}_axes, a function of the program"
        needs = ("import math", "import torch")
        edits.add(replaced(call.func, f"{name}_axes", words, needs, f"{name}_axes"))
        return
    is_layer = name in einops.LAYERS
    plain = call.args[:] if is_layer else call.args[1:]
    sizes = {one.arg: ast.unparse(one.value) for one in call.keywords if one.arg}
    texts = [
        one.value for one in plain if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    if (
        not texts
        or (not is_layer and not call.args)
        or any(one.arg is None for one in call.keywords)
    ):
        return
    reduction = texts[1] if len(texts) > 1 else sizes.pop("reduction", "").strip("'")
    try:
        methods = einops.methods_for(einops.LAYERS.get(name, name), texts[0], sizes, reduction)
    except einops.Unwritable:
        return
    words = f"{name}({texts[0]!r}) is written as tensor methods"
    if is_layer:
        needs = ("import torch.nn as nn",)
        edits.add(replaced(call, f"Apply(lambda x: x{methods})", words, needs, "Apply"))
        return
    start, end = span(call)
    inner_start, inner_end = span(call.args[0])
    atom = isinstance(call.args[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    edits.add(Edit(start, inner_start, "" if atom else "(", words))
    edits.add(Edit(inner_end, end, ("" if atom else ")") + methods))


def _einsum(call: ast.Call, edits: Edits) -> None:
    """einops.einsum(a, b, "i j, j k -> i k") is torch.einsum("ij,jk->ik", a, b)."""
    match call.args:
        case [*operands, ast.Constant(value=str() as pattern)] if operands:
            try:
                equation = einops.einsum_equation(pattern)
            except einops.Unwritable:
                return
            start, end = span(call)
            needs = ("import torch",)
            edits.add(
                Edit(
                    start,
                    span(operands[0])[0],
                    f'torch.einsum("{equation}", ',
                    "einops.einsum is torch.einsum",
                    needs,
                )
            )
            edits.add(Edit(span(operands[-1])[1], end, ")"))
        case _:
            pass


def _decorators(
    resolver: Resolver,
    module: Module,
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
    edits: Edits,
) -> None:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        parts = ast.unparse(called).split(".")
        name, owner = parts[-1], parts[0]
        if name in KEPT_DECORATORS:
            continue
        origin = resolver.find(module, owner)
        harmless = HARMLESS_DECORATORS.fullmatch(name) or (
            len(parts) > 1 and HARMLESS_OWNERS.search(owner)
        )
        if harmless or isinstance(origin, Outside) or origin is None:
            first, _ = span(decorator)
            _, end = span(decorator)
            line = module.lines[first[0] - 1]
            at = line.rfind(b"@", 0, first[1])
            words = f"dropped the decorator @{ast.unparse(called)}"
            edits.add(Edit((first[0], max(at, 0)), end, "", words))


def _bases(resolver: Resolver, module: Module, node: ast.ClassDef, edits: Edits) -> None:
    """Bases that are nn.Module with services become it; those without part are cut out."""
    kept: list[bool] = []
    has_module = False
    for base in node.bases:
        text = ast.unparse(base)
        last = text.split("[")[0].split(".")[-1]
        origin = resolver.find(module, text.split("[")[0].split(".")[0])
        if last in MODULE_BASES and not (isinstance(origin, Library) and last != "ScriptModule"):
            words, needs = f"base {text} is nn.Module", ("import torch.nn as nn",)
            kept.append(not has_module)
            edits.add(replaced(base, "" if has_module else "nn.Module", words, needs))
            has_module = True
        elif last in PLAIN_BASES or (
            isinstance(origin, Outside | None) and len(node.bases) > 1 and "Mixin" in last
        ):
            kept.append(False)
            edits.add(replaced(base, "", f"dropped the base {text}"))
        else:
            kept.append(True)
    for one in node.keywords:
        is_plain = one.arg == "metaclass" and "ABC" in ast.unparse(one.value)
        kept.append(not is_plain)
        if is_plain:
            start, end = _extent(one)
            edits.add(Edit(start, end, "", "dropped the metaclass ABCMeta"))
    _cut_commas([*node.bases, *node.keywords], kept, edits)


def _cut_commas(items: list[ast.expr | ast.keyword], kept: list[bool], edits: Edits) -> None:
    """Cuts what stands between a cut item and its neighbour."""
    if False not in kept:
        return
    last = max((index for index, is_kept in enumerate(kept) if is_kept), default=-1)
    for index, (one, other) in enumerate(itertools.pairwise(items)):
        if not kept[index] or index >= last:
            edits.add(Edit(_extent(one)[1], _extent(other)[0], ""))


def _extent(node: ast.expr | ast.keyword) -> tuple[Position, Position]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _quiet(module: Module, node: ast.AST, edits: Edits) -> None:
    """Drops statements that only log, and conditions that only guard such statements."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if not isinstance(body, list) or not body or not isinstance(body[0], ast.stmt):
            continue
        dropped = [one for one in body if _only_logs(one)]
        for index, one in enumerate(dropped):
            words = f"dropped logging: {ast.unparse(one).splitlines()[0][:60]}"
            needs_pass = len(dropped) == len(body) and index == 0
            edits.add(
                replaced(one, "pass", words) if needs_pass else whole_lines(module, one, words)
            )
        for one in body:
            if one not in dropped:
                _quiet(module, one, edits)
    for handler in getattr(node, "handlers", []):
        _quiet(module, handler, edits)


def whole_lines(module: Module, node: ast.stmt, words: str = "") -> Edit:
    """Cuts a statement with its lines, or writes `pass` if it shares them."""
    start, end = span(node)
    before = module.lines[start[0] - 1][: start[1]]
    after = module.lines[end[0] - 1][end[1] :].split(b"#")[0]
    if before.strip() or after.strip():
        return replaced(node, "pass", words)
    return Edit((start[0], 0), (end[0] + 1, 0), "", words)


def _only_logs(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call() as call):
            return _is_logging(call)
        case ast.If(body=body, orelse=other):
            return all(_only_logs(one) for one in [*body, *other])
    return False


def _is_logging(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in BARE_CALLS
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return bool(LOGGERS.fullmatch(owner) and LOG_CALLS.fullmatch(name))
        case ast.Attribute(value=ast.Attribute(attr=owner), attr=name):
            return bool(LOGGERS.fullmatch(owner) and LOG_CALLS.fullmatch(name))
    return False


__all__ = ["Edit", "Edits", "Local", "edit_class", "edit_node", "replaced", "span"]
