"""Writes a closure down: the author's text piece by piece, with edits and new names applied."""

import ast
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.source.trees import walk
from stages.extract.closure import MAX_LINES, Closure, NotClosed, Piece, Target, methods, ordered
from stages.extract.edits import Edit, Edits
from stages.extract.foreign import FOREIGN, with_needs
from stages.extract.names import ALONG, STAND_INS, WRITTEN
from stages.extract.resolve import Library, Module
from stages.extract.scope import BUILTINS, Use, bindings, reads

_MARKS = {"import torch.nn as nn": "nn.", "import torch": "torch.", "import math": "math."}
"""Import lines, and what in a definition of ours asks for them."""
RESERVED = frozenset({"Model", "get_inputs", "get_init_inputs", *WRITTEN})


@dataclass(frozen=True)
class Definitions:
    """The program's upper part: imports and definitions, the class being called Model."""

    imports: tuple[str, ...]
    body: str
    edits: tuple[str, ...]
    names: frozenset[str]  # bound by imports or definitions

    @property
    def code(self) -> str:
        return "\n".join(self.imports) + "\n\n\n" + self.body + "\n"


def render(closure: Closure) -> Definitions:
    """Gives the definitions as text.

    Raises:
        NotClosed: name_conflict, where two names can't be told apart.
    """
    ours = {
        target.name
        for piece in closure.pieces.values()
        for _, target in piece.uses
        if target.kind in ("stand_in", "foreign")
    }
    along = {other for name in ours for other in ALONG.get(name, ())}
    naming = _Naming(closure, with_needs(ours) | along)
    texts: list[str] = []
    words: list[str] = []
    stand_ins: dict[str, str] = {}
    written: dict[str, str] = {}
    needs: list[str] = []
    absent: dict[str, str] = {}
    foreign: set[str] = set()
    annotated = False
    assert isinstance(closure.target.node, ast.ClassDef)
    words.append(f"renamed the class {closure.target.node.name} to Model")
    for piece in ordered(closure):
        edits = Edits(list(piece.edits.items))
        annotated |= _renames(piece, naming, edits)
        for _use, target in piece.uses:
            if target.kind == "stand_in":
                stand_ins[target.name] = STAND_INS[target.name]
            elif target.kind == "foreign":
                foreign.add(target.name)
            elif target.kind == "absent":
                absent[target.name] = target.why
            elif target.library is not None and target.library.instead_of:
                means = ".".join(filter(None, (target.library.module, target.library.name)))
                words.append(f"{means} for {target.library.instead_of}")
        if isinstance(piece.node, ast.ClassDef):
            _cut_methods(piece, edits)
            _positional_only_by_position(piece, closure, edits)
        for edit in piece.edits.items:
            if edit.words:
                words += edit.words.split("; ")
            needs += edit.needs
            if edit.stand_in:
                written[edit.stand_in] = WRITTEN[edit.stand_in]
        words += [
            edit.words for edit in edits.items if edit.words and edit not in piece.edits.items
        ]
        texts.append(_text(piece, edits))
    for name, text in sorted(stand_ins.items()):
        words.append(f"a short {name} stands in for the package's own")
        needs += [line for line, mark in _MARKS.items() if mark in text]
        texts.insert(0, text)
    foreign = with_needs(foreign)
    for name in sorted(foreign, key=lambda name: (bool(FOREIGN[name][2]), name), reverse=True):
        words.append(f"a short {name} stands in for the one of {' or '.join(FOREIGN[name][0])}")
        needs += [line for line, mark in _MARKS.items() if mark in FOREIGN[name][1]]
        texts.insert(0, FOREIGN[name][1])
    texts[:0] = [text for _, text in sorted(written.items())]
    for name in sorted(absent, reverse=True):
        words.append(f"{name} is None: {absent[name]}")
        texts.insert(0, f"{name} = None")
    words += naming.words
    imports = _imports([*naming.imports, *needs], annotated)
    body = _joined(texts)
    if body.count("\n") > MAX_LINES:
        raise NotClosed("too_large", f"the program would have more than {MAX_LINES} lines")
    names = frozenset(naming.taken | set(written) | set(absent) | _bound(imports))
    return Definitions(tuple(imports), body, tuple(dict.fromkeys(words)), names)


class _Naming:
    """Gives every piece and every library one name in the program."""

    def __init__(self, closure: Closure, ours: Iterable[str]) -> None:
        self.words: list[str] = []
        self.imports: list[str] = []
        self.taken: set[str] = {*RESERVED, *ours}
        self._names: dict[tuple[object, str], str] = {}
        target = closure.target
        assert isinstance(target.node, ast.ClassDef)
        self._names[(target.key, target.node.name)] = "Model"
        for piece in ordered(closure):
            for name in names_of(piece.node):
                if (piece.key, name) not in self._names:
                    self._names[(piece.key, name)] = self._free(name)
        for piece in ordered(closure):
            for use, found in piece.uses:
                if found.kind == "library":
                    self._library(piece, use, found)
        for use, found in closure.argument_uses:
            if found.kind == "library":
                self._library(target, use, found)

    def name(self, use: Use, target: Target) -> str:
        """What a use is called in the program."""
        match target.kind:
            case "piece":
                return self._names.get((target.key, target.name), target.name)
            case "library":
                return self._names[(target.library, use.name)]
        return use.name

    def of(self, piece: Piece, name: str) -> str:
        return self._names.get((piece.key, name), name)

    def _free(self, name: str) -> str:
        if name in BUILTINS and name not in ("__name__",):
            pass  # the author shadows a builtin; the program does too
        new, number = name, 2
        while new in self.taken:
            new, number = f"{name}_{number}", number + 1
        if new != name:
            self.words.append(f"renamed {name} to {new}: two files use the name")
        self.taken.add(new)
        return new

    def _library(self, piece: Piece, use: Use, target: Target) -> None:
        library = target.library
        assert library is not None
        key = (library, use.name)
        if key not in self._names:
            self._names[key] = self._free(use.name)
        alias = self._names[key]
        self.imports.append(_import_line(library, alias))
        dotted = ".".join([use.name, *(one.attr for one in use.chain)])
        for line in _submodules(piece.module):
            if dotted.startswith(line + ".") and "." in line:
                self.imports.append(f"import {line}")


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    found, _ = bindings(ast.Module(body=[node], type_ignores=[]))
    return list(found)


def _submodules(module: Module) -> list[str]:
    found = []
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if "." in alias.name and not alias.asname]
    return found


def _import_line(library: Library, alias: str) -> str:
    if library.name is not None:
        tail = "" if library.name == alias else f" as {alias}"
        return f"from {library.module} import {library.name}{tail}"
    if library.module == alias:
        return f"import {library.module}"
    return f"import {library.module} as {alias}"


def _imports(lines: Iterable[str], annotated: bool) -> list[str]:
    """Sorted, without repeats, with several names of one module in one line."""
    plain: set[str] = set()
    grouped: dict[str, set[str]] = {}
    for line in lines:
        match = re.fullmatch(r"from (\S+) import (.+)", line)
        if match:
            grouped.setdefault(match[1], set()).add(match[2])
        else:
            plain.add(line)
    grouped.pop("__future__", None)
    if "import torch.nn as nn" in plain and "nn" in grouped.get("torch", set()):
        plain.discard("import torch.nn as nn")
    head = ["from __future__ import annotations", ""] if annotated else []
    standard = [line for line in plain if "torch" not in line]
    torch_lines = [line for line in plain if "torch" in line]
    froms = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(grouped.items())
    ]
    first = sorted(standard) + [line for line in froms if not line.startswith("from torch")]
    second = sorted(torch_lines) + [line for line in froms if line.startswith("from torch")]
    gap = [""] if first and second else []
    return head + first + gap + second


def _bound(imports: Iterable[str]) -> set[str]:
    """The names that import lines bind."""
    found: set[str] = set()
    for line in imports:
        if line:
            names, _ = bindings(ast.parse(line))
            found |= set(names)
    return found


def _renames(piece: Piece, naming: _Naming, edits: Edits) -> bool:
    """Adds edits for every name that is called otherwise; says whether annotations need care."""
    for use, target in piece.uses:
        new = naming.name(use, target)
        if target.consumed:
            last = use.chain[target.consumed - 1]
            assert last.end_lineno is not None and last.end_col_offset is not None
            edits.add(
                Edit(
                    (use.node.lineno, use.node.col_offset),
                    (last.end_lineno, last.end_col_offset),
                    new,
                )
            )
        elif new != use.name:
            assert use.node.end_lineno is not None and use.node.end_col_offset is not None
            start = (use.node.lineno, use.node.col_offset)
            edits.add(Edit(start, (use.node.end_lineno, use.node.end_col_offset), new))
    node = piece.node
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        new = naming.of(piece, node.name)
        if new != node.name:
            edits.add(_definition_name(piece, node, new))
    else:
        for child in walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                new = naming.of(piece, child.id)
                if new != child.id:
                    edits.add(
                        Edit(
                            (child.lineno, child.col_offset),
                            (child.lineno, child.end_col_offset or 0),
                            new,
                        )
                    )
    return _has_foreign_annotations(piece)


def _definition_name(piece: Piece, node: ast.ClassDef | ast.FunctionDef, new: str) -> Edit:
    line = piece.module.lines[node.lineno - 1]
    match = re.compile(rb"(class|def)\s+").match(line, node.col_offset)
    if match is None:
        raise NotClosed("name_conflict", f"can't rename {node.name}")
    start = match.end()
    return Edit((node.lineno, start), (node.lineno, start + len(node.name.encode())), new)


def _has_foreign_annotations(piece: Piece) -> bool:
    known = {use.name for use, target in piece.uses if target.kind == "library"} | BUILTINS
    nodes: list[ast.stmt] = [piece.node]
    if isinstance(piece.node, ast.ClassDef):
        nodes = [one for one in piece.node.body if not _is_dead(piece, one)]
    return any(use.name not in known for node in nodes for use in reads(node).annotations)


def _is_dead(piece: Piece, node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in piece.alive


def _cut_methods(piece: Piece, edits: Edits) -> None:
    """Removes methods that nothing reaches."""
    assert isinstance(piece.node, ast.ClassDef)
    dead = [one for one in methods(piece.node) if one.name not in piece.alive]
    if not dead:
        return
    lines = piece.module.lines
    left = [one for one in piece.node.body if one not in dead]
    names = ", ".join(dict.fromkeys(one.name for one in dead))
    for index, one in enumerate(dead):
        first = min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
        while first > piece.node.lineno + 1 and lines[first - 2].strip().startswith(b"#"):
            first -= 1
        text = ""
        if not left and index == 0:
            text = " " * one.col_offset + "pass\n"
        words = (
            f"dropped methods of {piece.node.name} that are not used: {names}" if index == 0 else ""
        )
        edits.add(Edit((first, 0), ((one.end_lineno or one.lineno) + 1, 0), text, words))


def _positional_only_by_position(piece: Piece, closure: Closure, edits: Edits) -> None:
    """Keyword-only parameters of the class are made positional: the format passes by position."""
    if piece is not closure.target or not isinstance(piece.node, ast.ClassDef):
        return
    for function in methods(piece.node):
        arguments = function.args
        if (
            function.name not in ("__init__", "forward")
            or arguments.vararg
            or not arguments.kwonlyargs
        ):
            continue
        given = [True] * len(arguments.defaults) + [
            one is not None for one in arguments.kw_defaults
        ]
        if given != sorted(given):
            continue  # by position no parameter without default may follow one with
        before = (
            arguments.defaults[-1]
            if arguments.defaults
            else [*arguments.posonlyargs, *arguments.args][-1]
        )
        after = arguments.kwonlyargs[0]
        assert before.end_lineno is not None and before.end_col_offset is not None
        for number in range(before.end_lineno, after.lineno + 1):
            line = piece.module.lines[number - 1]
            start = before.end_col_offset if number == before.end_lineno else 0
            end = after.col_offset if number == after.lineno else len(line)
            match = re.compile(rb"\*\s*,[ \t]*").search(line, start, end)
            if match:
                words = f"keyword-only parameters of {function.name} are positional"
                edits.add(Edit((number, match.start()), (number, match.end()), "", words))
                break


def _text(piece: Piece, edits: Edits) -> str:
    """The piece's source text with its edits, dedented."""
    node = piece.node
    decorators = [one.lineno for one in getattr(node, "decorator_list", [])]
    first = min([node.lineno, *decorators])
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = list(piece.module.lines[: node.end_lineno])
    lines[node.end_lineno - 1] = lines[node.end_lineno - 1][: node.end_col_offset]
    lines.append(b"")
    for edit in sorted(edits.items, key=lambda one: one.start, reverse=True):
        (from_line, from_column), (to_line, to_column) = edit.start, edit.end
        if to_line > len(lines):
            to_line, to_column = len(lines), 0
        head = lines[from_line - 1][:from_column]
        tail = lines[to_line - 1][to_column:]
        lines[from_line - 1 : to_line] = (head + edit.text.encode() + tail).split(b"\n")
    if not decorators or first == node.lineno:
        lines[first - 1] = b" " * node.col_offset + lines[first - 1][node.col_offset :]
    text = b"\n".join(lines[first - 1 :]).decode("utf-8", "surrogatepass")
    text = textwrap.dedent(text.expandtabs(4) if "\t" in text else text)
    return _tidy(text)


def _tidy(text: str) -> str:
    """No trailing blanks, no runs of empty lines, nothing before or after."""
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip("\n")


def _joined(texts: list[str]) -> str:
    """Two empty lines around definitions, none between constants."""
    result = ""
    previous = True
    for text in texts:
        big = bool(re.match(r"(@|class |def |async def )", text)) or "\n" in text
        if result:
            result += "\n\n\n" if big or previous else "\n"
        result += text
        previous = big
    return result
