"""Finds the nn.Module classes of a file and what their ancestors are."""

import ast
from dataclasses import dataclass

from stages.extract.names import MODULE_BASES as REPLACED_BASES
from stages.extract.names import PLAIN_BASES
from stages.extract.resolve import InPackage, Library, Local, Module, Outside, Resolver

MODULE_BASES = REPLACED_BASES | {"PreTrainedModel"}
TORCH_PARTS = ("torch.nn", "torch.jit", "torch")


@dataclass(frozen=True)
class Ancestry:
    """`kind`: module, not_module or outside; `ancestors` are definitions, nearest first."""

    kind: str
    ancestors: tuple[Local, ...] = ()
    torch_base: str = ""  # Module, Sequential, Linear, …
    outside: str = ""


def ancestry(resolver: Resolver, module: Module, node: ast.ClassDef, depth: int = 0) -> Ancestry:
    """Whether a class descends from nn.Module, and through which classes."""
    ancestors: list[Local] = []
    kind, torch_base, outside = "not_module", "", ""
    for base in node.bases:
        origin, last = locate(resolver, module, base)
        match origin:
            case Library(module=where) if where.split(".")[0] == "torch" and (
                where.startswith(("torch.nn", "torch.jit"))
                or last == "Module"
                or "nn" in ast.unparse(base).split(".")
            ):
                kind = "module"
                torch_base = torch_base or last
            case Local(statement=ast.ClassDef() as parent, module=home) if depth < 12:
                if last in MODULE_BASES:
                    kind, torch_base = "module", torch_base or "Module"
                    continue
                above = ancestry(resolver, home, parent, depth + 1)
                ancestors += [origin, *above.ancestors]
                if above.kind == "module":
                    kind = "module"
                    torch_base = torch_base or above.torch_base
                elif above.kind == "outside" and kind != "module":
                    kind, outside = "outside", above.outside
            case Outside(what=what) if last not in PLAIN_BASES:
                if last in MODULE_BASES:
                    kind, torch_base = "module", torch_base or "Module"
                elif kind != "module":
                    kind, outside = "outside", what
            case None if last == "Module" and kind != "module":
                kind, outside = "outside", last
            case _:
                pass
    return Ancestry(kind, tuple(dict.fromkeys(ancestors)), torch_base, outside)


def locate(
    resolver: Resolver, module: Module, node: ast.expr
) -> tuple[Local | Library | InPackage | Outside | None, str]:
    """Where a dotted expression leads, and its last name."""
    if isinstance(node, ast.Subscript):
        return locate(resolver, module, node.value)
    if isinstance(node, ast.Name):
        return resolver.find(module, node.id), node.id
    if isinstance(node, ast.Attribute):
        origin, _ = locate(resolver, module, node.value)
        if isinstance(origin, InPackage):
            return resolver.attribute(origin.module, node.attr), node.attr
        return origin, node.attr
    if isinstance(node, ast.Call):
        return locate(resolver, module, node.func)
    return None, ""


def method(classes: list[ast.ClassDef], name: str) -> ast.FunctionDef | None:
    """The first definition of a method along the classes."""
    for node in classes:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return statement
    return None


def is_abstract(function: ast.FunctionDef) -> bool:
    """Whether a method has no body of its own."""
    if any("abstract" in ast.unparse(decorator) for decorator in function.decorator_list):
        return True
    body = [
        one
        for one in function.body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]
    if not body:
        return True
    match body[-1]:
        case ast.Pass() if len(body) == 1:
            return True
        case ast.Raise(exc=error) if len(body) == 1 and error is not None:
            return "NotImplemented" in ast.unparse(error)
    return False
