"""Edits between a chain of layers in one `nn.Sequential`, a loop over them, and one call each."""

import ast
import copy


def unrolled(code: str) -> str:
    """Each layer of an `nn.Sequential` becomes an attribute of its own, called in turn."""
    tree = ast.parse(code)
    for owner in _classes(tree):
        chains = _called_chains(owner)
        _Calls({name: _one_call_each(name, len(made.args)) for name, made in chains.items()}).visit(
            owner
        )
        _split_constructors(owner, chains)
    return ast.unparse(ast.fix_missing_locations(tree))


def looped(code: str) -> str:
    """A call of an `nn.Sequential` becomes a loop over its layers."""
    tree = ast.parse(code)
    for owner in _classes(tree):
        _Calls({name: _loop(name) for name in _called_chains(owner)}).visit(owner)
    return _with_functools(ast.unparse(ast.fix_missing_locations(tree)))


class _Calls(ast.NodeTransformer):
    """Writes `self.name(x)` as another expression of x."""

    def __init__(self, written: dict[str, ast.expr]) -> None:
        self._written = written

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[value]
            ) if name in self._written:
                return _Placed(value).visit(copy.deepcopy(self._written[name]))
        return node


class _Placed(ast.NodeTransformer):
    def __init__(self, value: ast.expr) -> None:
        self._value = value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value if node.id == "_value" else node


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _called_chains(owner: ast.ClassDef) -> dict[str, ast.Call]:
    """Attributes that hold a Sequential of layers written out, and are only ever called.

    Only those set at the top level of a method: under an `if` there may be another of that name.
    """
    top = {id(part) for method in owner.body for part in getattr(method, "body", ())}
    made: dict[str, ast.Call] = {}
    mentioned: dict[str, int] = {}
    called: dict[str, int] = {}
    for node in ast.walk(owner):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Call(
                    func=ast.Attribute(attr="Sequential"), args=layers, keywords=[]
                ) as call,
            ) if (
                id(node) in top
                and layers
                and not any(isinstance(layer, ast.Starred) for layer in layers)
            ):
                made[name] = call
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[_], keywords=[]
            ):
                called[name] = called.get(name, 0) + 1
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                mentioned[name] = mentioned.get(name, 0) + 1
    return {
        name: call for name, call in made.items() if 0 < mentioned.get(name, 0) == called.get(name)
    }


def _one_call_each(name: str, count: int) -> ast.expr:
    text = "_value"
    for place in range(count):
        text = f"self.{name}_{place}({text})"
    return ast.parse(text, mode="eval").body


def _loop(name: str) -> ast.expr:
    text = f"functools.reduce(lambda value, layer: layer(value), self.{name}, _value)"
    return ast.parse(text, mode="eval").body


def _split_constructors(owner: ast.ClassDef, chains: dict[str, ast.Call]) -> None:
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        body: list[ast.stmt] = []
        for statement in method.body:
            match statement:
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if (
                    value is chains.get(name)
                ):
                    body += [
                        ast.Assign(
                            [ast.Attribute(ast.Name("self"), f"{name}_{place}", ast.Store())], layer
                        )
                        for place, layer in enumerate(chains[name].args)
                    ]
                case _:
                    body.append(statement)
        method.body = body


def _with_functools(code: str) -> str:
    return f"import functools\n{code}" if "functools." in code else code
