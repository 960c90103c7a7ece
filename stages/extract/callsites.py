"""Constructor arguments as the authors themselves write them: calls of the class in its package."""

import ast
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.source.trees import walk
from stages.extract.resolve import Library, Local, Module, Resolver

MAX_VALUES = 4
MAX_FILES = 6
"""Other files of the package that are read for calls of one class."""

Sites = dict[str, list[tuple[str, int, ast.expr]]]
"""By parameter: values as text, how often each is given, and the expression."""


def arguments_at_call_sites(
    resolver: Resolver, module: Module, name: str, constructor: ast.FunctionDef | None
) -> Sites:
    """For each parameter the values that calls give it, the most frequent first.

    Only values that mean the same elsewhere count: literals, and expressions of names that the
    file's top level or a library defines; in other files of the package, literals and a library's.
    """
    if constructor is None:
        return {}
    parameters = [one.arg for one in [*constructor.args.posonlyargs, *constructor.args.args]][1:]
    known = {*parameters, *(one.arg for one in constructor.args.kwonlyargs)}
    counts: dict[str, Counter[str]] = {}
    nodes: dict[str, ast.expr] = {}
    others = itertools.islice(resolver.callers(module, name), MAX_FILES)
    calls = [(one, call) for one in (module, *others) for call in calls_of(one, name)]
    for caller, call in calls:
        values = dict(zip(parameters, call.args, strict=False))
        values |= {one.arg: one.value for one in call.keywords if one.arg}
        if any(isinstance(one, ast.Starred) for one in call.args):
            continue
        for parameter, value in values.items():
            if parameter in known and _means_the_same(resolver, caller, value, module):
                text = ast.unparse(value)
                counts.setdefault(parameter, Counter())[text] += 1
                nodes[text] = value
    for parameter in parameters:
        if parameter not in counts and "block" in parameter.lower():
            for block in _expanding(module):
                counts[parameter] = Counter({block: 0})
                nodes[block] = ast.copy_location(ast.Name(block, ast.Load()), constructor)
    return {
        parameter: [(text, count, nodes[text]) for text, count in _ordered(counter)]
        for parameter, counter in counts.items()
    }


def _expanding(module: Module) -> list[str]:
    """The first class with an attribute `expansion`: what a residual network calls its block."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                if (
                    isinstance(statement, ast.Assign)
                    and ast.unparse(statement.targets[0]) == "expansion"
                ):
                    return [node.name]
    return []


def _ordered(counter: Counter[str]) -> Sequence[tuple[str, int]]:
    return sorted(counter.items(), key=lambda one: (-one[1], one[0]))[:MAX_VALUES]


def calls_of(module: Module, name: str) -> list[ast.Call]:
    """Calls whose function is called `name`."""
    return module.calls.get(name, [])


def _means_the_same(resolver: Resolver, module: Module, value: ast.expr, home: Module) -> bool:
    """Whether a value that `module` writes can be written in a program of `home`."""
    for node in walk(value):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name in ("None", "True", "False", "dict", "list", "tuple", "int", "float"):
                    continue
                origin = resolver.find(module, name)
                if isinstance(origin, Library) and origin.module.split(".")[0] in (
                    "torch",
                    "math",
                    "functools",
                ):
                    if resolver.find(home, name) == origin:
                        continue
                    return False
                if module is not home:
                    return False
                if isinstance(origin, Local) and isinstance(
                    origin.statement, ast.ClassDef | ast.FunctionDef
                ):
                    continue
                if isinstance(origin, Local) and name.isupper():
                    continue
                return False
            case (
                ast.Lambda()
                | ast.Await()
                | ast.Yield()
                | ast.NamedExpr()
                | ast.ListComp()
                | ast.GeneratorExp()
            ):
                return False
    return len(ast.unparse(value)) < 200


def as_evidence(
    found: Mapping[str, Sequence[tuple[str, int, ast.expr]]],
) -> dict[str, list[list[str]]]:
    """In the prober's words."""
    return {
        name: [
            [text, f"call site ({count})" if count else "its attribute expansion"]
            for text, count, _ in values
        ]
        for name, values in found.items()
    }
