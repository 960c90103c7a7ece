"""Collects exactly what a class needs: definitions from its file and package, and imports.

Methods that nothing reaches from the constructor and `forward` are left out, so that what they
need is not needed either.
"""

import ast
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pipeline.source.trees import walk
from stages.extract.edits import Edit, Edits, edit_class, edit_node, late_import_lines
from stages.extract.foreign import is_foreign
from stages.extract.names import AVAILABILITY, HOMES, PYTHONS, STAND_INS, TORCHS
from stages.extract.resolve import InPackage, Library, Local, Module, Outside, Resolver
from stages.extract.scope import BUILTINS, Reads, Use, reads

MAX_PIECES = 150
MAX_LINES = 1500
"""Of a program. A longer one is a package rather than a problem."""
ALWAYS = frozenset({"forward", "__init__"})
_OURS = ("stand_in", "foreign")


class NotClosed(Exception):
    """The class needs something that a program may not have."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass
class Piece:
    """One top-level statement that the program needs."""

    module: Module
    node: ast.stmt
    alive: set[str] = field(default_factory=set)  # methods that are kept, for a class
    early: set[str] = field(default_factory=set)  # keys of pieces that must come before
    uses: list[tuple[Use, "Target"]] = field(default_factory=list)
    edits: Edits = field(default_factory=Edits)
    new_name: str = ""

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.module.name, self.node.lineno, self.node.col_offset)


@dataclass(frozen=True)
class Target:
    """What a use stands for: a piece's name, a library's import or a definition of ours."""

    kind: str  # piece, library, stand_in, foreign, absent
    name: str  # as it is called at home
    key: tuple[str, int, int] = ("", 0, 0)
    library: Library | None = None
    consumed: int = 0  # attributes of the use that are part of the target
    why: str = ""  # of what is absent


@dataclass
class Closure:
    """Everything that the class needs, unordered."""

    target: Piece
    pieces: dict[tuple[str, int, int], Piece]
    argument_uses: list[tuple[Use, Target]]  # what possible constructor arguments read


def close(
    resolver: Resolver,
    module: Module,
    node: ast.ClassDef,
    more: Sequence[ast.expr] = (),
    late: bool = True,
    lenient: bool = False,
) -> Closure:
    """Gives the closure of a class, and of expressions that its arguments may be.

    With `late`, what functions import when they run is part of it, and their import lines are cut.
    With `lenient`, what only functions read may be missing: a run shows whether they read it.

    Raises:
        NotClosed: outside_dependency, unresolved_name or too_large.
    """
    return _Collector(resolver, late, lenient).collect(module, node, more)


class _Collector:
    def __init__(self, resolver: Resolver, late: bool, lenient: bool) -> None:
        self.resolver = resolver
        self.late = late
        self.lenient = lenient
        self.pieces: dict[tuple[str, int, int], Piece] = {}
        self.attributes: set[str] = set(ALWAYS)
        self.queue: list[tuple[Piece, list[ast.AST]]] = []
        self.lines = 0
        self.wanted_by: dict[tuple[str, int, int], Piece] = {}

    def collect(self, module: Module, node: ast.ClassDef, more: Sequence[ast.expr]) -> Closure:
        target = self._add(module, node)
        argument_uses = Piece(module, node)
        for expression in more:
            self._resolve(argument_uses, reads(expression))
        while self.queue or self._revive():
            if not self.queue:
                continue
            piece, nodes = self.queue.pop()
            self._read(piece, nodes)
        # Imports that only arguments need are found by way of the target; positions don't matter.
        self_uses = [(use, found) for use, found in argument_uses.uses if found.kind not in _OURS]
        return Closure(target, self.pieces, self_uses)

    def _add(self, module: Module, node: ast.stmt, reader: Piece | None = None) -> Piece:
        piece = Piece(module, node)
        if piece.key in self.pieces:
            return self.pieces[piece.key]
        if reader is not None:
            self.wanted_by[piece.key] = reader
        self.lines += (node.end_lineno or node.lineno) - node.lineno
        self.pieces[piece.key] = piece
        if len(self.pieces) > MAX_PIECES or self.lines > MAX_LINES * 6:
            raise NotClosed(
                "too_large", f"needs more than {MAX_PIECES} definitions or {MAX_LINES} lines"
            )
        if isinstance(node, ast.ClassDef):
            piece.edits += edit_class(self.resolver, module, node)
            self.queue.append((piece, _class_frame(node)))
        else:
            self._edit(piece, node)
            self.queue.append((piece, [node]))
            for other in module.registrations.get(_only_name(node), ()):
                self._add(module, other, piece)
        return piece

    def _edit(self, piece: Piece, node: ast.stmt) -> None:
        piece.edits += edit_node(self.resolver, piece.module, node)
        late = self._late_names(piece.module)
        if late:
            piece.edits += late_import_lines(piece.module, node, late)

    def _late_names(self, module: Module) -> frozenset[str]:
        return self.resolver.late_names(module) if self.late else frozenset()

    def _revive(self) -> bool:
        """Queues methods whose names have been read since; says whether there were any."""
        found = False
        for piece in list(self.pieces.values()):
            if isinstance(piece.node, ast.ClassDef):
                for function in methods(piece.node):
                    name = function.name
                    if name not in piece.alive and self._is_reached(piece.node, name):
                        piece.alive.add(name)
                        self._edit(piece, function)
                        same = [one for one in methods(piece.node) if one.name == name]
                        self.queue.append((piece, list(same)))
                        found = True
        return found

    def _is_reached(self, node: ast.ClassDef, name: str) -> bool:
        if name in ("extra_repr", "__repr__", "__str__") or (name.startswith("test_")):
            return False
        return (
            name in self.attributes
            or (name.startswith("__") and name.endswith("__"))
            or _keeps_all(node)
        )

    def _read(self, piece: Piece, nodes: list[ast.AST]) -> None:
        for node in nodes:
            found = reads(node, self._late_names(piece.module))
            if isinstance(piece.node, ast.ClassDef) and isinstance(node, ast.FunctionDef):
                # A decorator such as @size.setter and a default see the class's own names.
                own = names_in(piece.node)
                line = node.body[0].lineno
                uses = [one for one in found.uses if one.name not in own or one.node.lineno >= line]
                found = replace(found, uses=uses)
            self.attributes |= found.attributes
            self._resolve(piece, found)

    def _resolve(self, piece: Piece, found: Reads) -> None:
        for use in found.uses:
            if piece.edits.covers(use.node):
                continue
            try:
                target = self._target(piece.module, use, piece)
            except NotClosed as trouble:
                if self._may_be_missing(trouble, use, found):
                    why = (
                        f"{trouble.detail.split(',')[0]} is missing, and nothing that runs reads it"
                    )
                    piece.uses.append((use, Target("absent", use.name, why=why)))
                    continue
                if "needed by" not in trouble.detail:
                    trouble.detail += f", needed by {self._trail(piece)}"
                raise
            if target is None:
                continue
            piece.uses.append((use, target))
            if target.kind == "piece" and use.name in found.early:
                piece.early.add(str(target.key))
        for use in found.annotations:
            if piece.edits.covers(use.node):
                continue
            try:
                origin = self.resolver.find(piece.module, use.name)
            except RecursionError:
                origin = None
            if isinstance(origin, Library):
                piece.uses.append((use, Target("library", use.name, library=origin)))

    def _may_be_missing(self, trouble: NotClosed, use: Use, found: Reads) -> bool:
        return (
            self.lenient
            and trouble.reason in ("outside_dependency", "unresolved_name")
            and use.name not in found.early
        )

    def _trail(self, piece: Piece) -> str:
        """How the class came to need this piece, from inside outwards."""
        titles = [_title(piece.node)]
        while piece.key in self.wanted_by and len(titles) < 4:
            piece = self.wanted_by[piece.key]
            titles.append(_title(piece.node))
        return " for ".join(titles)

    def _target(self, module: Module, use: Use, reader: Piece) -> Target | None:
        if use.name in STAND_INS and module.name.startswith(HOMES.get(use.name, "")):
            return Target("stand_in", use.name)
        origin = self.resolver.find(module, use.name, before=use.node.lineno)
        root = origin.what.split(".")[0] if isinstance(origin, Outside) else None
        if (root or origin is None) and is_foreign(use.name, root):
            return Target("foreign", use.name)
        if origin is None and self.late:
            origin = self.resolver.find_late(module, use.name)
        consumed = 0
        for attribute in use.chain:
            if not isinstance(origin, InPackage):
                break
            origin = self.resolver.attribute(origin.module, attribute.attr)
            consumed += 1
        match origin:
            case Local(statement=statement, module=home, name=name):
                piece = self._add(home, statement, reader)
                return Target("piece", name, key=piece.key, consumed=consumed)
            case Library():
                return Target("library", use.name, library=origin, consumed=consumed)
            case Outside(optional=True):
                return Target(
                    "absent", use.name, why="what it is imported from is optional and absent"
                )
            case Outside(what="six") if use.name in BUILTINS:
                return None
            case Outside(what=what):
                raise NotClosed("outside_dependency", f"{use.name} from {what}")
            case InPackage(module=file):
                raise NotClosed("outside_dependency", f"the file {file.name} itself as a value")
        if use.name in BUILTINS or use.name in ("__file__", "__name__"):
            return None
        for star in module.stars:
            if star.module.split(".")[0] in ("torch", "math", "typing"):
                return Target("library", use.name, library=Library(star.module, use.name))
        lost = _lost_import(use)
        if lost is not None:
            return Target("library", use.name, library=lost)
        raise NotClosed("unresolved_name", use.name)


def _lost_import(use: Use) -> Library | None:
    """What a name means that only one thing can be meant by, though the file does not import it."""
    why = f"{use.name}, which the file does not bind"
    if use.name in TORCHS:
        return Library(*TORCHS[use.name], instead_of=why)
    if use.name in PYTHONS and use.chain:
        known = importlib.import_module(use.name)
        return (
            Library(use.name, None, instead_of=why) if hasattr(known, use.chain[0].attr) else None
        )
    return None


def names_in(node: ast.ClassDef) -> set[str]:
    """What the body of a class binds."""
    found = {one.name for one in methods(node)}
    for statement in node.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            found |= {
                inner.id
                for inner in walk(statement)
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
            }
    return found


def _only_name(node: ast.stmt) -> str:
    """The name that `X = …` binds."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _title(node: ast.stmt) -> str:
    return getattr(node, "name", "") or ast.unparse(node).splitlines()[0][:40]


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def _class_frame(node: ast.ClassDef) -> list[ast.AST]:
    """All of a class but its methods."""
    rest = [one for one in node.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    frame = ast.copy_location(
        ast.ClassDef(
            name=node.name,
            bases=node.bases,
            keywords=node.keywords,
            body=rest,
            decorator_list=node.decorator_list,
        ),
        node,
    )
    return [frame]


def _keeps_all(node: ast.ClassDef) -> bool:
    """Classes whose base calls methods by name: autograd functions, enums, dataclasses."""
    bases = " ".join(ast.unparse(base) for base in node.bases)
    return "Function" in bases or "Enum" in bases or "Tuple" in bases


def ordered(closure: Closure) -> list[Piece]:
    """Pieces so that each comes after what it needs when executed; else in the author's order."""
    files = _file_order(closure)
    waiting = sorted(
        closure.pieces.values(),
        key=lambda one: (one is closure.target, files[one.module.name], one.key),
    )
    done: set[str] = set()
    result: list[Piece] = []
    known = {str(piece.key) for piece in waiting}

    def place(piece: Piece, trail: frozenset[str]) -> None:
        name = str(piece.key)
        if name in done or name in trail:
            return
        for other in sorted(piece.early & known):
            place(by_key[other], trail | {name})
        if name not in done:
            done.add(name)
            result.append(piece)

    by_key = {str(piece.key): piece for piece in waiting}
    for piece in waiting:
        place(piece, frozenset())
    return result


def _file_order(closure: Closure) -> dict[str, int]:
    """Other files come first, the target's own last."""
    names = sorted({piece.module.name for piece in closure.pieces.values()})
    own = closure.target.module.name
    return {name: (len(names) if name == own else index) for index, name in enumerate(names)}


__all__ = ["AVAILABILITY", "Closure", "Edit", "NotClosed", "Piece", "Target", "close", "ordered"]
