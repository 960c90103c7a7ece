"""Where a name comes from: this file, another file of its package, torch and Python, or outside."""

import ast
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from pipeline.source.trees import walk
from stages.extract.names import HARMLESS_DECORATORS, HARMLESS_OWNERS, TWINS
from stages.extract.parsing import Unparsable, parse
from stages.extract.scope import Binding, Imported, bindings, late_imports

ALLOWED = frozenset(
    [
        "torch",
        "math",
        "typing",
        "dataclasses",
        "functools",
        "itertools",
        "collections",
        "enum",
        "abc",
        "copy",
        "warnings",
        "random",
        "types",
        "operator",
        "numbers",
        "inspect",
        "re",
        "string",
        "contextlib",
        "time",
        "__future__",
        "typing_extensions",
        "bisect",
        "heapq",
        "fractions",
        "statistics",
        "logging",
        "os",
        "sys",
        "weakref",
        "json",
        "uuid",
        "hashlib",
        "decimal",
        "cmath",
        "array",
        "textwrap",
        "keyword",
    ]
)
"""The standard library as far as a computation may need it, and torch."""


_CALLED = re.compile(r"(?<!class )\b([A-Z]\w+)\(")

MAX_PARSED = 8_000_000
"""Characters whose trees are kept in memory: those of a whole large package would take gigabytes."""


@dataclass
class Module:
    """One parsed file. `name` is its dotted path in the package, `pkg.sub.file`."""

    name: str
    text: str
    tree: ast.Module
    is_package: bool = False

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines as ast counts them, in the bytes that its columns count."""
        text = self.text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
        return [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]

    @cached_property
    def _bound(self) -> tuple[dict[str, list[Binding]], list[Imported]]:
        return bindings(self.tree)

    @cached_property
    def late_imports(self) -> dict[str, Imported]:
        """What its functions import relatively, by name."""
        return late_imports(self.tree)

    @cached_property
    def registrations(self) -> dict[str, list[ast.stmt]]:
        """By object: the statements that add to it, `@X.register("a")` and `X.register("a", …)`."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            match statement:
                case (
                    ast.FunctionDef(decorator_list=[*makers])
                    | ast.ClassDef(decorator_list=[*makers])
                ):
                    pass
                case ast.Expr(value=ast.Call() as maker):
                    makers = [maker]
                case _:
                    continue
            for one in makers:
                match one:
                    case ast.Call(
                        func=ast.Attribute(value=ast.Name(id=name), attr=attribute)
                    ) if not (
                        HARMLESS_DECORATORS.fullmatch(attribute) or HARMLESS_OWNERS.search(name)
                    ):
                        found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls by the last name of what they call."""
        found: dict[str, list[ast.Call]] = {}
        for node in walk(self.tree):
            match node:
                case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                    found.setdefault(name, []).append(node)
                case _:
                    pass
        return found

    @cached_property
    def has_numpy(self) -> bool:
        """Whether the text names numpy at all."""
        return "numpy" in self.text

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        return self._bound[0]

    @property
    def stars(self) -> list[Imported]:
        return self._bound[1]


class Files(Protocol):
    """Gives the other files of a package."""

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, or None where the package has none."""
        ...

    def is_inside(self, name: str) -> bool:
        """Whether a dotted name belongs to the package."""
        ...

    def may_bind(self, name: str, word: str) -> bool:
        """Whether a star import of that module can bind `word`; told from its text, unparsed."""
        ...

    def callers(self, name: str) -> tuple[str, ...]:
        """The modules whose text calls something of that name, in order."""
        ...


class OneFile:
    """A file without a package around it."""

    def callers(self, name: str) -> tuple[str, ...]:
        return ()

    def module(self, name: str) -> Module | None:
        return None

    def is_inside(self, name: str) -> bool:
        return False

    def may_bind(self, name: str, word: str) -> bool:
        return False


class Package:
    """All files of a package: path inside its origin → text. Parsed when first needed."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._paths = {_dotted(path): path for path in sorted(files)}
        self._texts = files
        self._parsed: OrderedDict[str, Module | None] = OrderedDict()
        self._size = 0
        self._roots = frozenset(name.split(".")[0] for name in self._paths)

    def module(self, name: str) -> Module | None:
        if name not in self._parsed:
            self._parsed[name] = self._read(name)
            self._size += self._length(name)
            while self._size > MAX_PARSED and len(self._parsed) > 1:
                oldest, _ = self._parsed.popitem(last=False)
                self._size -= self._length(oldest)
        self._parsed.move_to_end(name)
        return self._parsed[name]

    def is_inside(self, name: str) -> bool:
        return name.split(".")[0] in self._roots

    def may_bind(self, name: str, word: str) -> bool:
        text = self._texts.get(self._paths.get(name, ""), "")
        if "import *" in text:
            return True
        if "__all__" in text:  # a star import takes these and nothing else
            return f'"{word}"' in text or f"'{word}'" in text
        return word in text

    def callers(self, name: str) -> tuple[str, ...]:
        return self._callers.get(name, ())

    @cached_property
    def _callers(self) -> dict[str, tuple[str, ...]]:
        """By class name; told from the texts, so that only files that matter are parsed."""
        found: dict[str, list[str]] = {}
        for module_name, path in self._paths.items():
            for word in set(_CALLED.findall(self._texts[path])):
                found.setdefault(word, []).append(module_name)
        return {word: tuple(names) for word, names in found.items()}

    def _length(self, name: str) -> int:
        path = self._paths.get(name)
        return len(self._texts[path]) if path else 0

    def _read(self, name: str) -> Module | None:
        path = self._paths.get(name)
        if path is None:
            return None
        try:
            tree = parse(self._texts[path])
        except Unparsable:
            return None
        return Module(name, self._texts[path], tree, path.endswith("__init__.py"))


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True)
class Local:
    """The name is a definition of a file."""

    module: Module = field(compare=False)
    module_name: str
    name: str
    statement: ast.stmt = field(compare=False)

    @property
    def key(self) -> tuple[str, int, int]:
        """One statement, though it may bind several names."""
        return (self.module_name, self.statement.lineno, self.statement.col_offset)


@dataclass(frozen=True)
class Library:
    """The name is torch's or Python's: `import module as …` or `from module import name as …`."""

    module: str
    name: str | None
    instead_of: str = field(default="", compare=False)  # what the file itself imports


@dataclass(frozen=True)
class InPackage:
    """The name is a file of the package."""

    module: Module = field(compare=False)


@dataclass(frozen=True)
class Outside:
    """The name lives in a package that a program may not import, or nowhere."""

    what: str
    optional: bool = False  # imported where it may be missing, e.g. in a `try`


Origin = Local | Library | InPackage | Outside


class Resolver:
    """Follows imports through the files of one package."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._nowhere: set[tuple[str, str]] = set()
        self._late: dict[str, frozenset[str]] = {}

    def is_inside(self, name: str) -> bool:
        """Whether a dotted name belongs to the package."""
        return self._files.is_inside(name)

    def find(
        self,
        module: Module,
        name: str,
        trail: frozenset[tuple[str, str]] = frozenset(),
        before: int | None = None,
    ) -> Origin | None:
        """Where `name` in `module` comes from; None if the module doesn't bind it.

        Of several definitions the last counts, or the last above line `before`: that is the one
        which a base class or decorator there means.
        """
        if (module.name, name) in trail:
            return Outside(f"circular import of {name}")
        trail |= {(module.name, name)}
        candidates = module.bindings.get(name, [])
        firm = [one for one in candidates if not one.conditional]
        if before is not None and len(firm) > 1:
            firm = [one for one in firm if one.statement.lineno < before] or firm
        ordered = [*reversed(firm), *(one for one in candidates if one.conditional)]
        worst: Origin | None = None
        for binding in ordered:
            if any(self._is_foreign(module, one) for one in binding.guard):
                worst = worst or Outside(name, optional=True)
                continue
            origin = self._origin(module, name, binding, trail)
            if isinstance(origin, Outside) and binding.conditional:
                origin = replace(origin, optional=True)
            if not isinstance(origin, Outside):
                return origin
            worst = worst or origin
        if worst is not None:
            return worst
        if (module.name, name) in self._nowhere:
            return None
        for star in module.stars:
            found = self._star(module, star, name, trail)
            if found is not None:
                return found
        if len(trail) == 1:  # else the answer may only hold on this trail
            self._nowhere.add((module.name, name))
        return None

    def callers(self, module: Module, name: str) -> Iterator[Module]:
        """Other modules of the package that call this module's class `name`."""
        for other in self._files.callers(name):
            if other == module.name:
                continue
            caller = self._files.module(other)
            if caller is None:
                continue
            origin = self.find(caller, name)
            if isinstance(origin, Local) and origin.module_name == module.name:
                yield caller

    def late_names(self, module: Module) -> frozenset[str]:
        """What functions of the module import relatively and the package has."""
        if module.name not in self._late:
            self._late[module.name] = frozenset(
                name
                for name in module.late_imports
                if not isinstance(self.find_late(module, name), Outside | None)
            )
        return self._late[module.name]

    def find_late(self, module: Module, name: str) -> Origin | None:
        """Where a name comes from that a function of the module imports relatively."""
        imported = module.late_imports.get(name)
        if imported is None:
            return None
        return self._imported(module, imported, frozenset({(module.name, name)}))

    def attribute(self, module: Module, name: str) -> Origin | None:
        """Where `module.name` leads: a definition or a file below it."""
        found = self.find(module, name)
        if found is not None:
            return found
        below = self._files.module(f"{module.name}.{name}")
        return InPackage(below) if below else None

    def _origin(
        self, module: Module, name: str, binding: Binding, trail: frozenset[tuple[str, str]]
    ) -> Origin:
        if binding.imported is None:
            if self._is_this_file(module, binding.statement, trail):
                return InPackage(module)
            return Local(module, module.name, name, binding.statement)
        return self._imported(module, binding.imported, trail)

    def _is_this_file(
        self, module: Module, statement: ast.stmt, trail: frozenset[tuple[str, str]]
    ) -> bool:
        """`here = sys.modules[__name__]`, and other names for it."""
        match statement:
            case ast.Assign(value=ast.Subscript() as value):
                return ast.unparse(value) == "sys.modules[__name__]"
            case ast.Assign(targets=[ast.Name()], value=ast.Name(id=name)):
                return isinstance(self.find(module, name, trail), InPackage)
        return False

    def _imported(
        self, module: Module, imported: Imported, trail: frozenset[tuple[str, str]]
    ) -> Origin:
        target = absolute(module, imported)
        wanted = imported.name
        root = target.split(".")[0]
        if root in ALLOWED and (
            imported.level == 0 or root == "torch"
        ):  # torch itself is a source too
            return library(target, wanted)
        if not self._files.is_inside(target):
            if (root, wanted) in TWINS:
                return replace(library(*TWINS[root, wanted]), instead_of=f"{target}.{wanted}")
            return Outside(root or "." * imported.level + str(wanted))
        other = self._files.module(target)
        if wanted is None:
            return InPackage(other) if other else Outside(target)
        if other is not None and (other.name, wanted) not in trail:
            found = self.find(other, wanted, trail)
            if found is not None:
                return found
        below = self._files.module(f"{target}.{wanted}")
        return InPackage(below) if below else Outside(f"{target}.{wanted}")

    def _is_foreign(self, module: Module, imported: Imported) -> bool:
        target = absolute(module, imported)
        return target.split(".")[0] not in ALLOWED and not self._files.is_inside(target)

    def _star(
        self, module: Module, star: Imported, name: str, trail: frozenset[tuple[str, str]]
    ) -> Origin | None:
        target = absolute(module, star)
        if not self._files.is_inside(target) or not self._files.may_bind(target, name):
            return None
        other = self._files.module(target)
        return (
            self.find(other, name, trail)
            if other is not None and (other.name, name) not in trail
            else None
        )


SUBMODULES = frozenset(
    [
        "torch.nn",
        "torch.nn.functional",
        "torch.nn.init",
        "torch.utils",
        "torch.utils.checkpoint",
        "torch.autograd",
        "torch.linalg",
        "torch.fft",
        "torch.distributed",
        "torch.distributions",
        "torch.cuda",
        "torch.optim",
        "torch.jit",
        "torch.special",
        "torch.sparse",
        "collections.abc",
        "torch.nn.utils",
        "torch.nn.modules",
        "torch.amp",
        "torch.backends",
        "torch.nn.parameter",
    ]
)


def library(module: str, name: str | None) -> Library:
    """One form for `from torch import nn` and `import torch.nn as nn`."""
    if name is not None and f"{module}.{name}" in SUBMODULES:
        return Library(f"{module}.{name}", None)
    return Library(module, name)


def absolute(module: Module, imported: Imported) -> str:
    """The dotted name that an import statement means."""
    if imported.level == 0:
        return imported.module
    parts = module.name.split(".")
    up = imported.level - (1 if module.is_package else 0)
    base = parts[: len(parts) - up] if up else parts
    return ".".join([*base, *([imported.module] if imported.module else [])])
