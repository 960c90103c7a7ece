"""Hard negatives: another program in a benchmark problem's clothes."""

import ast


def in_scaffolding_of(problem: str, other: str) -> str:
    """The classes of `other` between the imports, constants and input functions of `problem`.

    What is shared is only what every problem has; what is computed is `other`'s.

    Raises:
        SyntaxError: one of them is not Python.
    """
    wearer, clothes = ast.parse(other), ast.parse(problem)
    own = [node for node in wearer.body if _is_definition(node)]
    names = {name for node in wearer.body for name in _assigned(node)}
    parts = [
        *[node for node in clothes.body if _is_import(node)],
        *[node for node in wearer.body if _is_import(node)],
        *[node for node in wearer.body if not _is_import(node) and not _is_inputs(node)],
        *[
            node
            for node in clothes.body
            if not _is_import(node) and not _is_definition(node) and not names & _assigned(node)
        ],
        *[node for node in clothes.body if _is_inputs(node)],
    ]
    assert own, "a program has a class"
    return "\n".join(ast.unparse(node) for node in parts) + "\n"


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_inputs(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and not _is_inputs(node)


def _assigned(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}
