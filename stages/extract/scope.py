"""What a piece of code reads from around it, and what a file's top level binds."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.source.trees import children, walk

BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__class__"}


@dataclass(frozen=True)
class Use:
    """A name that is read but not bound there; `chain` are the attributes that follow it."""

    name: str
    node: ast.Name
    chain: tuple[ast.Attribute, ...] = ()


@dataclass
class Reads:
    """All that a piece of code reads; shared, not to be changed once it is complete."""

    uses: list[Use] = field(default_factory=list)
    annotations: list[Use] = field(default_factory=list)  # read by annotations only
    attributes: set[str] = field(default_factory=set)
    early: set[str] = field(default_factory=set)  # names needed when the piece is executed


@dataclass(frozen=True)
class Imported:
    """`import module as …`, or `from module import name as …`; level counts leading dots."""

    module: str
    name: str | None
    level: int = 0


@dataclass(frozen=True)
class Binding:
    """One place where the top level binds a name."""

    statement: ast.stmt
    imported: Imported | None = None
    conditional: bool = False
    guard: tuple[Imported, ...] = ()
    """Imports that must succeed for the statement to run: those of its `try`."""


def bindings(tree: ast.Module) -> tuple[dict[str, list[Binding]], list[Imported]]:
    """Gives the names that the top level binds, in order, and the star imports."""
    found: dict[str, list[Binding]] = {}
    stars: list[Imported] = []
    for statement, conditional, guard in _top_level(tree.body, False, ()):
        for name, imported in _bound_by(statement):
            if name == "*":
                assert imported is not None
                stars.append(imported)
            else:
                found.setdefault(name, []).append(Binding(statement, imported, conditional, guard))
    return found, stars


def _top_level(
    body: list[ast.stmt], conditional: bool, guard: tuple[Imported, ...]
) -> Iterator[tuple[ast.stmt, bool, tuple[Imported, ...]]]:
    for statement in body:
        match statement:
            case ast.If(test=test, body=first, orelse=other):
                if _asks_the_environment(test):
                    first, other = other, first
                yield from _top_level(first, True, guard)
                yield from _top_level(other, True, guard)
            case ast.Try(body=first, handlers=handlers, orelse=other, finalbody=last):
                inner = (*guard, *_imports_of(first)) if handlers else guard
                yield from _top_level(first, True, inner)
                yield from _top_level(other, True, inner)
                for handler in handlers:
                    yield from _top_level(handler.body, True, guard)
                yield from _top_level(last, True, guard)
            case ast.With(body=first):
                yield from _top_level(first, True, guard)
            case _:
                yield statement, conditional, guard


def _asks_the_environment(test: ast.expr) -> bool:
    """`if "X" in os.environ`: a program has no environment, so the other branch is the one taken."""
    match test:
        case ast.Compare(ops=[ast.In()], comparators=[ast.Attribute(attr="environ")]):
            return True
    return False


def _imports_of(body: list[ast.stmt]) -> Iterator[Imported]:
    for statement in body:
        match statement:
            case ast.Import(names=names):
                yield from (Imported(alias.name, None) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from (Imported(module or "", alias.name, level) for alias in names)


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, Imported | None]]:
    match statement:
        case ast.Import(names=names):
            for alias in names:
                if alias.asname:
                    yield alias.asname, Imported(alias.name, None)
                else:
                    yield alias.name.split(".")[0], Imported(alias.name.split(".")[0], None)
        case ast.ImportFrom(module=module, names=names, level=level):
            for alias in names:
                yield alias.asname or alias.name, Imported(module or "", alias.name, level)
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, None
        case ast.Assign(targets=targets):
            for target in targets:
                for node in walk(target):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        yield node.id, None
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, None
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, None


def late_imports(tree: ast.AST) -> dict[str, Imported]:
    """By name: what functions import relatively when they run, as packages do to break a circle."""
    return {
        alias.asname or alias.name: Imported(node.module or "", alias.name, node.level)
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
        for alias in node.names
    }


@lru_cache(maxsize=1 << 14)
def reads(node: ast.AST, late: frozenset[str] = frozenset()) -> Reads:
    """What a statement or an expression reads; remembered, for many classes share their helpers.

    The names in `late`, which functions import when they run, count as read from around them.
    """
    walker = _Walker(late)
    walker.visit(node, frozenset(), early=True)
    return walker.found


class _Walker:
    def __init__(self, late: frozenset[str]) -> None:
        self.late = late
        self.found = Reads()

    def visit(self, node: ast.AST, bound: frozenset[str], early: bool) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._use(name, node, (), bound, early)
            case ast.Attribute():
                self._attribute(node, bound, early)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node, bound, early)
            case ast.ClassDef():
                self._class(node, bound, early)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self._annotation(annotation, bound)
                self.visit(target, bound, early)
                if value is not None:
                    self.visit(value, bound, early)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = bound | {
                    name.id
                    for generator in node.generators
                    for name in walk(generator.target)
                    if isinstance(name, ast.Name)
                }
                for child in children(node):
                    self.visit(child, inner, early)
            case ast.Constant(value=str() as text):
                if text.isidentifier():
                    self.found.attributes.add(text)
            case _:
                for child in children(node):
                    self.visit(child, bound, early)

    def _use(
        self,
        name: str,
        node: ast.Name,
        chain: tuple[ast.Attribute, ...],
        bound: frozenset[str],
        early: bool,
    ) -> None:
        if name not in bound:
            self.found.uses.append(Use(name, node, chain))
            if early:
                self.found.early.add(name)

    def _attribute(self, node: ast.Attribute, bound: frozenset[str], early: bool) -> None:
        chain = [node]
        value = node.value
        while isinstance(value, ast.Attribute):
            chain.append(value)
            value = value.value
        self.found.attributes.update(one.attr for one in chain)
        if isinstance(value, ast.Name):
            self._use(value.id, value, tuple(reversed(chain)), bound, early)
        else:
            self.visit(value, bound, early)

    def _annotation(self, node: ast.AST | None, bound: frozenset[str]) -> None:
        if node is None:
            return
        inner = _Walker(self.late)
        inner.visit(node, bound, early=False)
        self.found.annotations += inner.found.uses

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        bound: frozenset[str],
        early: bool,
    ) -> None:
        arguments = node.args
        for default in [*arguments.defaults, *(one for one in arguments.kw_defaults if one)]:
            self.visit(default, bound, early)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one]
        if isinstance(node, ast.Lambda):
            self.visit(node.body, bound | {one.arg for one in every}, False)
            return
        for decorator in node.decorator_list:
            self.visit(decorator, bound, early)
        for one in every:
            self._annotation(one.annotation, bound)
        self._annotation(node.returns, bound)
        own = _locals(node.body) - self.late
        inner = (bound | {one.arg for one in every} | own) - _globals(node.body)
        for statement in node.body:
            self.visit(statement, inner, False)

    def _class(self, node: ast.ClassDef, bound: frozenset[str], early: bool) -> None:
        for outer in [*node.decorator_list, *node.bases, *(one.value for one in node.keywords)]:
            self.visit(outer, bound, early)
        own: frozenset[str] = frozenset()
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in statement.decorator_list:
                    self.visit(decorator, bound | own, early)
                plain = _undecorated(statement)
                self.visit(plain, bound, early)
                own |= {statement.name}
            else:
                self.visit(statement, bound | own, early)
                own |= _locals([statement])


def _undecorated(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    if not node.decorator_list:
        return node
    fields = {name: getattr(node, name, None) for name in node._fields}
    fields["decorator_list"] = []
    return ast.copy_location(type(node)(**fields), node)


def _locals(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that a function's body binds, nested functions apart."""
    found: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                found.add(name)
                continue
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                for child in walk(node):
                    if isinstance(child, ast.NamedExpr) and isinstance(child.target, ast.Name):
                        found.add(child.target.id)
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.ExceptHandler(name=str() as name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(alias.asname or alias.name).split(".")[0] for alias in names}
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                found.add(name)
        stack.extend(children(node))
    return frozenset(found)


def _globals(body: Iterable[ast.stmt]) -> frozenset[str]:
    found: set[str] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Global):
                found |= set(node.names)
    return frozenset(found)
