"""Edits that no reader would call a change: comments, layout, sizes, type hints."""

import ast


def other_comments(code: str) -> str:
    """Docstrings replaced and comments added; the author's comments are gone."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            body = [statement for statement in node.body if not _is_string(statement)]
            says = ast.Expr(ast.Constant(f"Computes the {node.name} step of this layer."))
            node.body = [says, *(body or [ast.Pass()])]
    lines = ast.unparse(ast.fix_missing_locations(tree)).split("\n")
    commented = [
        f"{line}  # see the paper" if line.strip().startswith("return") else line for line in lines
    ]
    return "\n".join(["# A layer for our experiments.", *commented, ""])


def reformatted(code: str) -> str:
    """Another layout: no comments, blank lines between statements of a class."""
    tree = ast.parse(code)
    return "\n\n".join(ast.unparse(node) for node in tree.body) + "\n"


def other_sizes(code: str) -> str:
    """Every number at the top of the file and in the input functions becomes another."""
    tree = ast.parse(code)
    for node in tree.body:
        if isinstance(node, ast.Assign) or (
            isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")
        ):
            _Resize().visit(node)
    return ast.unparse(tree)


def with_hints(code: str) -> str:
    """Type hints on every argument and result."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                if argument.annotation is None and argument.arg != "self":
                    name = "torch.Tensor" if node.name == "forward" else "object"
                    argument.annotation = ast.Constant(name)
            if node.returns is None:
                result = "None" if node.name == "__init__" else "object"
                node.returns = ast.Constant(None if result == "None" else result)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Resize(ast.NodeTransformer):
    """Doubles integers above 3; smaller ones are more often ranks, axes and kernel sizes."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 3:
            return ast.Constant(node.value * 2)
        return node


def _is_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
