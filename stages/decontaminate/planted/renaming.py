"""Every name that the author chose becomes another; names of torch and Python stay."""

import ast
import builtins

_KEPT = {"Model", "forward", "get_inputs", "get_init_inputs", "self", "cls"}
_WORDS = ("alpha", "hidden", "left", "count", "stage", "inner", "factor", "pack", "state", "unit")


def other_names(code: str) -> str:
    """The program with other local names, attributes, constants, functions and classes."""
    tree = ast.parse(code)
    names, attributes = _chosen_names(tree)
    fresh = {name: _fresh(place, name) for place, name in enumerate(sorted(names | attributes))}
    renamer = _Renamer(
        {name: fresh[name] for name in names},
        {name: fresh[name] for name in attributes},
        _callables(tree),
    )
    return ast.unparse(ast.fix_missing_locations(renamer.visit(tree)))


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str], attributes: dict[str, str], own: set[str]) -> None:
        self.names = names
        self.attributes = attributes
        self.own = own

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.generic_visit(node)
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not _is_module(node.value):
            node.attr = self.attributes.get(node.attr, node.attr)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.attributes.get(node.name, self.names.get(node.name, node.name))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        own = isinstance(node.func, ast.Name) and node.func.id in self.own
        own |= isinstance(node.func, ast.Attribute) and node.func.attr in self.attributes
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("register_"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant):
                    argument.value = self.attributes.get(argument.value, argument.value)
        self.generic_visit(node)
        if own:
            for keyword in node.keywords:
                if keyword.arg:
                    keyword.arg = self.names.get(keyword.arg, keyword.arg)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.names.get(name, name) for name in node.names]
        return node


def _chosen_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """(names, attributes) that the author defined and that are safe to rename everywhere."""
    imported: set[str] = set()
    names: set[str] = set()
    attributes: set[str] = set()
    unsafe: set[str] = set()  # reached by text that we don't follow
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                imported |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                names.add(name)
                attributes |= {item.name for item in body if isinstance(item, ast.FunctionDef)}
                unsafe |= {n.id for item in body if isinstance(item, ast.Assign | ast.AnnAssign)
                           for n in ast.walk(item) if isinstance(n, ast.Name)}  # fmt: skip
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                attributes.add(attr)
            case ast.Call(func=ast.Attribute(attr="register_buffer" | "register_parameter")):
                if node.args and isinstance(node.args[0], ast.Constant):
                    attributes.add(node.args[0].value)
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                unsafe |= {keyword.arg for keyword in keywords if keyword.arg}
            case ast.Constant(value=str() as text):
                unsafe.add(text)
    registered = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.startswith("register_")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    fixed = _KEPT | imported | set(dir(builtins)) | (unsafe - registered)
    methods = attributes & names
    names -= methods
    return (
        {name for name in names - fixed if not name.startswith("__")},
        {name for name in attributes - fixed if not name.startswith("__")},
    )


def _callables(tree: ast.Module) -> set[str]:
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def _is_module(node: ast.expr) -> bool:
    """Whether `node.attr` is torch's own name: torch.x, F.x, nn.x, torch.nn.functional.x."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "np", "einops")


def _fresh(place: int, name: str) -> str:
    word = f"{_WORDS[place % len(_WORDS)]}{place}"
    if name.isupper():
        return word.upper()
    return word.title() if name[0].isupper() else word
