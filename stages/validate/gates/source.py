"""The text alone, before anything is executed. Hygiene, not a security boundary: that is the sandbox."""

import ast
from collections.abc import Iterator

from stages.validate.gates.verdict import Reject, Verdict

POLICY = 1
MOST_BYTES = 64 * 1024  # the longest KernelBench program has 20 KB
IMPORTS = frozenset((
    "torch", "math", "typing", "dataclasses", "functools", "itertools", "collections", "enum",
    "abc", "copy", "numbers", "operator", "warnings", "random", "__future__",
    "typing_extensions", "string", "re", "contextlib", "types", "inspect", "logging",
))  # fmt: skip
CALLS = frozenset((
    "open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals",
    "torch.load", "torch.save", "torch.hub.load", "torch.jit.load", "torch.ops.load_library",
    "torch.classes.load_library", "torch.manual_seed", "torch.set_num_threads",
    "torch.cuda.manual_seed", "torch.set_default_device", "torch.use_deterministic_algorithms",
))  # fmt: skip
PLACES = (
    "torch.distributed",
    "torch.multiprocessing",
    "torch.utils.cpp_extension",
    "torch.backends",
    "torch.hub",
    "torch.cuda",
)
PARTS = ("Model", "get_inputs", "get_init_inputs")


def check_source(code: str) -> Iterator[Verdict]:
    """Parses; small enough; complete; imports and calls only what a problem needs."""
    size = len(code.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        yield Reject("program_too_long", "", "bytes", size, MOST_BYTES)
        return
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        yield Reject("does_not_load", f"{type(error).__name__}: {error}"[:200])
        return
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    missing = [name for name in PARTS if name not in defined]
    if missing:
        yield Reject("incomplete_program", f"no {', '.join(missing)}")
    for node in ast.walk(tree):
        yield from _check_node(node)


def _check_node(node: ast.AST) -> Iterator[Verdict]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield from _check_import(alias.name, node.lineno)
        case ast.ImportFrom(module=module, level=level):
            yield from _check_import("." * level + (module or ""), node.lineno)
        case ast.Call(func=func):
            name = ast.unparse(func) if isinstance(func, ast.Name | ast.Attribute) else ""
            if name in CALLS or name.startswith(PLACES):
                yield Reject("forbidden_call", f"{name} in line {node.lineno}")
        case ast.Attribute(attr=attr) if attr in ("__subclasses__", "__globals__", "__builtins__"):
            yield Reject("forbidden_call", f"{attr} in line {node.lineno}")


def _check_import(name: str, line: int) -> Iterator[Verdict]:
    if name.split(".")[0] not in IMPORTS or name.startswith(PLACES):
        yield Reject("forbidden_import", f"{name} in line {line}")
