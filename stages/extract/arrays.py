"""numpy on arrays, written with tensors of its own default types: float64 and int64.

A program holds no numpy, so that `torch.from_numpy(x)` is `x`, and `x.astype(…)` can only be asked of
such a tensor. Which names hold arrays is told from the assignments of the function itself. What has
no twin here stays, and with it the reason for the class's removal.
"""

import ast
from collections.abc import Callable

from pipeline.source.trees import walk

TYPES = {
    "float32": "torch.float32", "float64": "torch.float64", "float": "torch.float64", "double": "torch.float64",
    "float16": "torch.float16", "int": "torch.int64", "int64": "torch.int64", "int32": "torch.int32", "int_": "torch.int64",
    "long": "torch.int64", "uint8": "torch.uint8", "int8": "torch.int8", "bool": "torch.bool", "bool_": "torch.bool",
    "complex64": "torch.complex64",
}  # fmt: skip

MADE = frozenset({"array", "asarray", "zeros", "ones", "eye", "arange", "linspace"})
"""Functions that make an array; each has a definition in WRITTEN."""
SAME = frozenset(
    ["stack", "concatenate", "vstack", "hstack", "matmul", "dot", "outer", "where", "abs", "triu", "tril", "roll", "diff", "maximum",
     "minimum", "zeros_like", "ones_like", "reshape", "cumsum", "ravel", "sum", "prod", "argmax", "tile", "argsort", "flip"]
)  # fmt: skip
"""Functions that torch has under the same name, with the same meaning for what is given here."""
RENAMED = {"expand_dims": "unsqueeze", "meshgrid": "meshgrid", "repeat": "repeat_interleave"}
WIDE = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "cos": "cos", "sin": "sin", "tanh": "tanh", "mean": "mean", "power": "pow",
    "log2": "log2", "log10": "log10",
}  # fmt: skip
"""Functions that give float64 for whole numbers too."""
METHODS = {"copy": "clone", "transpose": "permute", "ravel": "flatten"}

WRITTEN = {
    "np_array": """def np_array(values, dtype=None):
    if isinstance(values, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in values):
        values = torch.stack([torch.as_tensor(one) for one in values])
    made = values.clone() if isinstance(values, torch.Tensor) else torch.tensor(values)
    if dtype is None and made.dtype == torch.float32 and not isinstance(values, torch.Tensor):
        return torch.tensor(values, dtype=torch.float64)
    return made if dtype is None else torch.as_tensor(values, dtype=dtype).clone()""",
    "np_zeros": """def np_zeros(shape, dtype=torch.float64):
    return torch.zeros(shape, dtype=dtype)""",
    "np_ones": """def np_ones(shape, dtype=torch.float64):
    return torch.ones(shape, dtype=dtype)""",
    "np_eye": """def np_eye(rows, columns=None, dtype=torch.float64):
    return torch.eye(rows, rows if columns is None else columns, dtype=dtype)""",
    "np_arange": """def np_arange(start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    count = max(0, math.ceil((stop - start) / step))
    whole = all(isinstance(one, int) for one in (start, stop, step))
    kind = torch.int64 if whole else torch.float64
    made = torch.arange(count, dtype=kind) * ((start + step) - start) + start
    return made if dtype is None else made.to(dtype)""",
    "np_linspace": """def np_linspace(start, stop, num=50, dtype=None):
    made = torch.arange(num, dtype=torch.float64) * ((stop - start) / max(num - 1, 1)) + start
    if num > 1:
        made[-1] = stop
    return made if dtype is None else made.to(dtype)""",
    "as_floats": """def as_floats(values, *more):
    return values.float() if isinstance(values, torch.Tensor) else torch.FloatTensor(values, *more)""",
}
"""numpy's functions as far as their arguments are named here, rounding included."""


class Arrays:
    """What holds an array in one statement, a function mostly."""

    def __init__(self, node: ast.AST, is_numpy: Callable[[str], bool]) -> None:
        self._is_numpy = is_numpy
        self._names: set[str] = set()
        self._narrow: set[str] = set()  # of float32
        self._counted: set[int] = set()
        for child in walk(node):
            match child:
                case ast.For(iter=ast.Call() as call) | ast.comprehension(iter=ast.Call() as call):
                    self._counted.add(id(call))
        while self._learn(node):
            pass

    def _learn(self, node: ast.AST) -> bool:
        """Adds the names to which arrays are assigned; says whether there were new ones."""
        before = len(self._names)
        for one in walk(node):
            match one:
                case ast.Assign(targets=targets, value=value) if self.holds(value):
                    found = {
                        inner.id
                        for target in targets
                        for inner in walk(target)
                        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                    }
                    self._names |= found
                    if self.is_narrow(value):
                        self._narrow |= found
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]
                ) if self.holds(value):
                    self._names.add(name)
        return len(self._names) > before

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is an array, or a list that holds one."""
        match node:
            case ast.Name(id=name):
                return name in self._names
            case ast.Call():
                return self._is_made(node)
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value) | ast.Starred(value=value):
                return self.holds(value)
            case ast.Attribute(value=value, attr="T"):
                return self.holds(value)
            case ast.BinOp(left=left, right=right):
                return self.holds(left) or self.holds(right)
            case ast.Compare(left=left, comparators=others):
                return any(self.holds(one) for one in (left, *others))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return any(self.holds(one) for one in items)
            case ast.ListComp(elt=item):
                return self.holds(item)
        return False

    def _is_made(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if self._is_numpy(owner):
                takes = any(self.holds(one) for one in call.args)
                return name in MADE or (takes and name in (SAME | RENAMED.keys() | WIDE.keys()))
            case ast.Attribute(value=value, attr=name):
                return name not in ("tolist", "item") and self.holds(value)
        return False

    def is_narrow(self, node: ast.expr) -> bool:
        """Whether an expression may be of float32, in which numpy then computes."""
        return "float32" in ast.unparse(node) or any(
            isinstance(one, ast.Name) and one.id in self._narrow for one in walk(node)
        )

    def is_counted(self, call: ast.Call) -> bool:
        """Whether a loop runs over what an `arange` of whole numbers gives."""
        return id(call) in self._counted and not call.keywords

    def type_of(self, node: ast.expr) -> str:
        """The torch type that `np.float32`, `float` or `"float32"` means; empty for anything else."""
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if self._is_numpy(owner):
                return TYPES.get(name, "")
            case ast.Name(id="float" | "int" | "bool" as name) | ast.Constant(value=str() as name):
                return TYPES.get(name, "")
        return ""
