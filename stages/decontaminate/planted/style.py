"""Edits of a program's style: the same calls by PyTorch's other names."""

import ast

from pipeline.source.torch_names import STATELESS

_FUNCTIONS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "matmul",
}
_UNARY = {
    "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "abs", "sum", "mean", "softmax", "clamp",
    "transpose", "cumsum", "cumprod", "flatten", "squeeze", "unsqueeze", "logsumexp", "argmax",
    "argmin", "pow", "matmul", "mul", "add", "bmm",
}  # fmt: skip
_USUAL_IMPORTS = (
    "import torch",
    "import torch.nn as nn",
    "from torch import nn",
    "import torch.nn.functional as F",
    "from torch.nn import functional as F",
)
_AS_MODULE = {"relu": "ReLU", "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "GELU", "silu": "SiLU"}
_AS_MODULE |= {"softplus": "Softplus", "hardswish": "Hardswish", "mish": "Mish"}


def other_imports(code: str) -> str:
    """`nn` and `F` written out, or the other way round."""
    tree = ast.parse(code)
    tree.body = [node for node in tree.body if ast.unparse(node) not in _USUAL_IMPORTS]
    tree.body = [*ast.parse("import torch\nimport torch.nn.functional").body, *tree.body]
    return ast.unparse(ast.fix_missing_locations(_LongNames().visit(tree)))


def functional(code: str) -> str:
    """Modules without parameters become calls of torch.nn.functional."""
    tree = ast.parse(code)
    for model in [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        init = next((n for n in model.body if getattr(n, "name", "") == "__init__"), None)
        if not isinstance(init, ast.FunctionDef):
            continue
        found: dict[str, ast.Call] = {}
        for statement in list(init.body):
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)],
                    value=ast.Call(func=ast.Attribute(attr=module), args=arguments) as made,
                ) if (
                    module in _SIMPLE
                    and not arguments
                    and all(isinstance(keyword.value, ast.Constant) for keyword in made.keywords)
                ):
                    found[attr] = made
        caller = _Functional(found)
        for method in model.body:
            if method is not init:
                caller.visit(method)
        init.body = [
            s
            for s in init.body
            if not (
                isinstance(s, ast.Assign)
                and isinstance(s.targets[0], ast.Attribute)
                and s.targets[0].attr in caller.replaced
            )
        ] or [ast.Pass()]
    return _with_functional(ast.unparse(ast.fix_missing_locations(tree)))


def as_modules(code: str) -> str:
    """Activations become modules made on the spot."""
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(_InForward(_AsModule()).visit(tree)))


def operators_to_functions(code: str) -> str:
    """`a + b` becomes `torch.add(a, b)` where one side is surely a tensor."""
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(_InForward(_Operators()).visit(tree)))


def functions_to_methods(code: str) -> str:
    """`torch.relu(x)` becomes `x.relu()`."""
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(_InForward(_Methods()).visit(tree)))


def einsum(code: str) -> str:
    """Matrix products become einsum, over any leading dimensions."""
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(_InForward(_Einsum()).visit(tree)))


def with_temporaries(code: str) -> str:
    """Nested calls in forward get a line and a name each."""
    tree = ast.parse(code)
    for model in [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        for method in model.body:
            if isinstance(method, ast.FunctionDef) and method.name == "forward":
                method.body = [new for old in method.body for new in _Temporaries().split(old)]
    return ast.unparse(ast.fix_missing_locations(tree))


class _LongNames(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        long = {"nn": "torch.nn", "F": "torch.nn.functional"}.get(node.id)
        return ast.parse(long, mode="eval").body if long else node


class _InForward(ast.NodeTransformer):
    """Applies another transformer to the methods that compute, not to constructors."""

    def __init__(self, inner: ast.NodeTransformer) -> None:
        self.inner = inner

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in ("__init__", "get_inputs", "get_init_inputs"):
            return node
        return self.inner.visit(node)


class _Functional(ast.NodeTransformer):
    def __init__(self, found: dict[str, ast.Call]) -> None:
        self.found = found
        self.replaced: set[str] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in self.found:
                made = self.found[attr]
                self.replaced.add(attr)
                name = STATELESS[made.func.attr]  # type: ignore[attr-defined]
                call = ast.parse(f"torch.nn.functional.{name}()", mode="eval").body
                assert isinstance(call, ast.Call)
                call.args, call.keywords = [*node.args, *made.args], made.keywords
                return call
        return node


class _AsModule(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _torch_function(node.func)
        if name in _AS_MODULE and len(node.args) == 1 and not node.keywords:
            node.func = ast.parse(f"torch.nn.{_AS_MODULE[name]}()", mode="eval").body
        return node


class _Operators(ast.NodeTransformer):
    def __init__(self) -> None:
        self.tensors: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == "forward":
            self.tensors = {argument.arg for argument in node.args.args[1:]}
        self.generic_visit(node)
        self.tensors = set()
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if _is_tensor(node.value, self.tensors):
            self.tensors |= {name.id for name in node.targets if isinstance(name, ast.Name)}
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _FUNCTIONS.get(type(node.op))
        if name and _is_tensor(node.left, self.tensors):
            call = ast.parse(f"torch.{name}()", mode="eval").body
            assert isinstance(call, ast.Call)
            call.args = [node.left, node.right]
            return call
        return node


class _Methods(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _torch_function(node.func)
        if name in _UNARY and node.args and not isinstance(node.args[0], ast.Starred):
            node.func = ast.Attribute(node.args[0], name, ast.Load())
            node.args = node.args[1:]
        return node


class _Einsum(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _torch_function(node.func) in ("matmul", "mm", "bmm") and len(node.args) == 2:
            return self._product(*node.args)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._product(node.left, node.right) if isinstance(node.op, ast.MatMult) else node

    def _product(self, left: ast.expr, right: ast.expr) -> ast.expr:
        call = ast.parse("torch.einsum('...ij,...jk->...ik')", mode="eval").body
        assert isinstance(call, ast.Call)
        call.args += [left, right]
        return call


class _Temporaries:
    """Splits the value of an assignment or return into one call a line."""

    def split(self, statement: ast.stmt) -> list[ast.stmt]:
        if not isinstance(statement, ast.Assign | ast.Return) or statement.value is None:
            return [statement]
        lines: list[ast.stmt] = []
        statement.value = self._flat(statement.value, lines, top=True)
        return [*lines, statement]

    def _flat(self, node: ast.expr, lines: list[ast.stmt], top: bool = False) -> ast.expr:
        match node:
            case ast.Call(args=arguments) if not any(isinstance(a, ast.Starred) for a in arguments):
                node.args = [self._flat(argument, lines) for argument in arguments]
            case ast.BinOp():
                node.left = self._flat(node.left, lines)
                node.right = self._flat(node.right, lines)
            case _:
                return node
        if top:
            return node
        name = f"part_{len(lines)}"
        lines.append(ast.Assign([ast.Name(name, ast.Store())], node))
        return ast.Name(name, ast.Load())


def _torch_function(node: ast.expr) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id="torch" | "F"), attr=name):
            return name
    text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return text.rsplit(".", 1)[-1] if text.startswith("torch.nn.functional.") else ""


def _is_tensor(node: ast.expr, names: set[str]) -> bool:
    """Surely a tensor: an input of forward, or what a layer or a torch function gave."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "F" | "self"), attr=name)):
            return name not in ("size", "numel")
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(left=left):
            return _is_tensor(left, names)
    return False


def _with_functional(code: str) -> str:
    return (
        f"import torch\nimport torch.nn.functional\n{code}"
        if "torch.nn.functional." in code
        else code
    )


_SIMPLE = frozenset(STATELESS) - {"Upsample", "Flatten", "Unflatten", "Dropout"}
