"""Edits of a program's build: order, constants, classes around it, dead code, loops."""

import ast
import copy

_INPUTS = ("get_inputs", "get_init_inputs")


def reordered(code: str) -> str:
    """Definitions in another order, methods and keyword arguments too."""
    tree = ast.parse(code)
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    inputs = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in _INPUTS]
    rest = [n for n in tree.body if n not in imports and n not in inputs]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            fields = [n for n in node.body if not isinstance(n, ast.FunctionDef)]
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            node.body = [*fields, *reversed(methods)]
        elif isinstance(node, ast.Call) and all(k.arg for k in node.keywords):
            node.keywords = node.keywords[::-1]
    tree.body = [*imports[::-1], *inputs[::-1], *rest]
    return ast.unparse(tree)


def inlined_constants(code: str) -> str:
    """Numbers named at the top of the file stand where they are used."""
    tree = ast.parse(code)
    values: dict[str, ast.expr] = {}
    kept = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            value = _Substitute(values).visit(copy.deepcopy(node.value))
            if _is_plain(value):
                values |= {t.id: value for t in node.targets if isinstance(t, ast.Name)}
                continue
        kept.append(node)
    tree.body = [_Substitute(values).visit(node) for node in kept]
    return ast.unparse(ast.fix_missing_locations(tree))


def hoisted_constants(code: str) -> str:
    """Floating-point numbers inside the classes get names at the top of the file."""
    tree = ast.parse(code)
    hoist = _Hoist()
    tree.body = [hoist.visit(n) if isinstance(n, ast.ClassDef) else n for n in tree.body]
    place = _after_imports(tree)
    tree.body[place:place] = [
        ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
        for name, value in hoist.found.items()
    ]
    return ast.unparse(ast.fix_missing_locations(tree))


def in_submodule(code: str) -> str:
    """The computation moves into a class of its own; Model only holds and calls it."""
    tree = ast.parse(code)
    model = _model(tree)
    forward = _method(model, "forward")
    if forward is None or forward.args.vararg or forward.args.kwarg:
        return code
    _Substitute({"Model": ast.Name("_Core")}).visit(model)
    model.name = "_Core"
    names = [argument.arg for argument in forward.args.args[1:]]
    defaults = forward.args.defaults
    plain = [name if i < len(names) - len(defaults) else f"{name}={ast.unparse(defaults[i - len(names)])}"
             for i, name in enumerate(names)]  # fmt: skip
    wrapper = ast.parse(
        "class Model(torch.nn.Module):\n"
        "    def __init__(self, *settings):\n"
        "        super().__init__()\n"
        "        self.core = _Core(*settings)\n"
        f"    def forward(self, {', '.join(plain)}):\n"
        f"        return self.core({', '.join(names)})\n"
    ).body[0]
    place = tree.body.index(model)
    tree.body.insert(place + 1, wrapper)
    return _with_torch(ast.unparse(ast.fix_missing_locations(tree)))


def with_unused_parent(code: str) -> str:
    """Model derives from a class whose methods nobody calls."""
    tree = ast.parse(code)
    model = _model(tree)
    parent = ast.parse(
        "class BaseLayer(torch.nn.Module):\n"
        "    def describe(self):\n"
        "        return type(self).__name__\n"
        "    def count_parameters(self):\n"
        "        return sum(p.numel() for p in self.parameters())\n"
    ).body[0]
    model.bases = [ast.Name("BaseLayer")]
    tree.body.insert(tree.body.index(model), parent)
    return _with_torch(ast.unparse(ast.fix_missing_locations(tree)))


def with_dead_code(code: str) -> str:
    """A helper nobody calls, a method nobody calls, a statement without effect."""
    tree = ast.parse(code)
    model = _model(tree)
    forward = _method(model, "forward")
    if forward is not None:
        forward.body = [*ast.parse("steps = 0\nsteps += 1").body, *forward.body]
    model.body += ast.parse(
        "def extra_repr(self):\n    return 'layer'\n"
        "def reset(self, scale=0.02):\n"
        "    for p in self.parameters():\n        torch.nn.init.normal_(p, std=scale)\n"
    ).body
    helper = ast.parse("def _pairs(values):\n    return list(zip(values, values[1:]))\n").body
    place = tree.body.index(model)
    tree.body[place:place] = helper
    return _with_torch(ast.unparse(ast.fix_missing_locations(tree)))


def in_loop(code: str) -> str:
    """The body of forward stands in a loop that runs once."""
    tree = ast.parse(code)
    forward = _method(_model(tree), "forward")
    if forward is None:
        return code
    forward.body = [
        ast.For(
            ast.Name("step", ast.Store()), ast.parse("range(1)").body[0].value, forward.body, []
        )
    ]
    return ast.unparse(ast.fix_missing_locations(tree))


class _Substitute(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            return copy.deepcopy(self.values[node.id])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A name that the function binds itself is another name."""
        own = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
        own |= {
            inner.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        }
        inside = _Substitute({n: v for n, v in self.values.items() if n not in own})
        node.body = [inside.visit(statement) for statement in node.body]
        return node


class _Hoist(ast.NodeTransformer):
    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        for name, value in self.found.items():
            if value == node.value:
                return ast.Name(name, ast.Load())
        name = f"CONSTANT_{len(self.found)}"
        self.found[name] = node.value
        return ast.Name(name, ast.Load())


def _model(tree: ast.Module) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _is_plain(node: ast.expr) -> bool:
    allowed = (ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.operator,
               ast.unaryop, ast.expr_context)  # fmt: skip
    return all(isinstance(inner, allowed) for inner in ast.walk(node))


def _after_imports(tree: ast.Module) -> int:
    places = [i for i, n in enumerate(tree.body) if isinstance(n, ast.Import | ast.ImportFrom)]
    return max(places, default=-1) + 1


def _with_torch(code: str) -> str:
    return code if "import torch\n" in code else f"import torch\n{code}"
