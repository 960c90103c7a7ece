"""A fingerprint of what a tape computes, blind to shapes, names and the way it is written.

Two programs with one fingerprint do the same computation up to sizes, numeric constants and data
layout. The rules lean to equality, because the fingerprint is used to keep a held-out benchmark
out: a false match costs one problem, a missed one costs trust. (version: rules.py)

Seen as equal
- functional and module form, names, helpers, order of independent statements; dead code;
- `x @ w.T`, `F.linear`, `einsum`, `bmm`, `addmm`, with or without reshapes around them: a matrix
  product; parameters and inputs: a leaf is a leaf;
- arguments of sums and products in any order and bracketing; `a - b` and `a + (-b)`; `a / b` and
  `a * (1 / b)`; `rsqrt` and `1 / sqrt`; `x * x`, `square` and `x ** 2`;
- any numeric factor at a linear operation: `(q * s) @ k`, `(q @ k) * s` and `(q @ k) / t`; hence
  `mean` and a scaled `sum`; any added number and any other; a guard against division by zero
  (`+ 1e-6`, `clamp_min(1e-12)`) and none;
- SiLU, CELU and ELU, softmax-cross-entropy pieces, fused attention, RMS and layer norm and their spelled-out forms;
- fused attention, causal or not (its mask is not spelled out);
- a convolution or matrix product with a bias and without one;
- a learned vector that scales or shifts, such as a norm's weight, and none: it begins as 1 or 0 and
  is what a model learns, not what it computes;
- dropout outside training, casts, copies, in-place and out-of-place forms;
- views that only rename axes or repeat elements (reshape, transpose, expand, …).

Kept apart
- the operation, its number of arguments and which arguments are tensors;
- an exponent, which of clamp's bounds are given, and arguments that are words (gelu's "tanh");
- reduction over everything and over some axes (not over which);
- convolution: dimensions, transposed or not, dense, grouped or depthwise (not kernel or stride);
- parts of a tensor (slice, select, chunk): head, tail, or middle;
- how deep and how often: a loop over time steps is unrolled, so its length shows.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import torch

from pipeline.tracing import ops
from pipeline.tracing.tape import Call, Slot, Tape

GUARD = 1e-3
"""A number up to this that is added, or bounds from below, only keeps a divisor from zero."""

RENAMES = {
    "_softmax": "softmax",
    "_safe_softmax": "softmax",
    "_log_softmax": "log_softmax",
    "linalg_vector_norm": "norm",
    "clamp_min": "relu_like",
    "upsample_nearest2d": "upsample_nearest",
    "hardtanh": "clamp",
    "celu": "elu",
}
MATRIX_PRODUCTS = frozenset(
    ["mm", "bmm", "mv", "dot", "matmul", "linear", "vdot", "inner", "outer", "ger"]
)
ADDED_PRODUCTS = frozenset(["addmm", "baddbmm", "addmv", "addbmm", "addr"])
ATTENTION = frozenset((
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention", "scaled_dot_product_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_attention_math_for_mps",
))  # fmt: skip
PARTS = frozenset((
    "slice", "select", "split", "split_with_sizes", "unbind", "chunk", "narrow", "unsafe_split",
    "unsafe_chunk", "unsafe_split_with_sizes", "split_with_sizes_copy",
))  # fmt: skip
SYMMETRIC = frozenset((
    "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "logical_xor", "bitwise_and",
    "bitwise_or", "bitwise_xor", "fmax", "fmin", "hypot",
))  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A node's digest, whether a numeric factor is to be applied to it, whether it is learned.

    Learned are parameters with one axis at most, and what is computed from them alone.
    """

    key: str
    scaled: bool = False
    learned: bool = False


def fingerprint(tape: Tape) -> str:
    """sha256 of the outputs, each with all that leads to it."""
    builder = _Builder(tape)
    for call in tape.calls:
        builder.add(call)
    return _digest("outputs", *(_seen(builder.of(index)) for index in tape.outputs))


class _Builder:
    """Walks the tape once; equal subexpressions get equal keys, so the walk needs no graph."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._values: dict[int, Value] = {}
        self._products: set[str] = set()  # keys of matrix products and convolutions
        self._leaves = {_digest("leaf", kind) for kind in "fbi"}
        self._terms: dict[str, Counter[str]] = {}  # key of a sum or product → its flat operands
        self._written: dict[int, Value] = {}  # storage → what was last written into a part of it

    def of(self, index: int) -> Value:
        value = self._values.get(index)
        if value is None:
            tensor = self._tape.values[index]
            kind = "f" if tensor.is_floating_point() else "b" if tensor.dtype == torch.bool else "i"
            learned = isinstance(tensor, torch.nn.Parameter) and _is_vector(tensor)
            value = self._values[index] = Value(_digest("leaf", kind), learned=learned)
        return value

    def add(self, call: Call) -> None:
        results = self._results(call)
        if call.reads and all(self.of(index).learned for index in call.reads):
            results = [
                replace(value, learned=_is_vector(self._tape.values[index]))
                for value, index in zip(results, call.writes, strict=False)
            ]
        if call.in_place:
            self._overwrite(call.writes[0], results[0])
            results = results[1:]
        for index, value in zip(call.writes[1 if call.in_place else 0 :], results, strict=False):
            self._values[index] = value

    def _overwrite(self, index: int, value: Value) -> None:
        """An in-place call changes every tensor over the same memory."""
        storage = _storage(self._tape.values[index])
        whole = self._tape.values[index].numel()
        for other, held in list(self._values.items()):
            if other != index and _storage(self._tape.values[other]) == storage:
                same = self._tape.values[other].numel() == whole
                mixed = value if same else self._node("assembled", held, value)
                self._values[other] = mixed
        self._values[index] = value

    def _results(self, call: Call) -> list[Value]:
        name = RENAMES.get(call.name, call.name)
        args = [self._operand(arg) for arg in call.args]
        if name in PARTS:
            return [self._part(call, place, args) for place in range(len(call.writes))]
        one = self._one(name, call, args)
        rest = [self._node(f"{name}.{place}", one) for place in range(1, len(call.writes))]
        return [one, *rest]

    def _one(self, name: str, call: Call, args: list[Any]) -> Value:
        """The first result of a call, in canonical form."""
        tensors = [a for a in args if isinstance(a, Value)]
        for arg in args:
            if isinstance(arg, list):
                tensors += [part for part in arg if isinstance(part, Value)]
        tensors += [self._operand(v) for v in call.kwargs.values() if isinstance(v, Slot)]
        match name:
            case "copy":
                return tensors[-1]  # copy_(target, source)
            case _ if name in ops.VIEWS or name in ops.COPIES:
                return tensors[0] if tensors else self._node(name)
            case _ if name in ops.CREATIONS:
                return self._created(name)
            case _ if name in MATRIX_PRODUCTS:
                return self._linear("product", tensors[:2], ordered=False, more=tensors[2:])
            case _ if name in ADDED_PRODUCTS:
                product = self._linear("product", tensors[1:3], ordered=False)
                bias = self._tape.values[call.reads[0]].dim() < 2
                return product if bias else self._sum([tensors[0], product])
            case _ if name in ATTENTION:
                return self._attention(tensors)
            case "convolution" | "_convolution" | "mkldnn_convolution":
                return self._convolution(call, tensors)
            case "add" | "sub" | "rsub":
                return self._plus(name, call, args)
            case "mul" | "div" | "square":
                return self._times(name, call, args, tensors)
            case "neg":
                return self._scale(tensors[0])
            case "addcmul":
                return self._sum([tensors[0], self._product(tensors[1:3])])
            case "addcdiv":
                return self._sum(
                    [tensors[0], self._product([tensors[1], self._inverse(tensors[2])])]
                )
            case "lerp":
                first, last, *_ = tensors
                step = self._sum([last, self._scale(first)])
                weight = tensors[2] if len(tensors) > 2 else None
                moved = self._product([step, weight]) if weight else self._scale(step)
                return self._sum([first, moved])
            case "reciprocal":
                return self._inverse(tensors[0])
            case "rsqrt":
                return self._inverse(self._node("sqrt", tensors[0]))
            case "silu":
                return self._product([tensors[0], self._node("sigmoid", tensors[0])])
            case "pow":
                return self._power(args)
            case "sum" | "mean":
                return self._total(call, tensors[0])
            case "native_layer_norm":
                return self._layer_norm(tensors[0])
            case "_fused_rms_norm":
                return self._normed(tensors[0])
            case "relu":
                return self._node("relu", tensors[0])
            case "clamp" | "relu_like":
                return self._clamp(name, args, call)
            case "where" | "masked_fill":
                return self._choice(name, args)
            case _:
                return self._other(name, call, tensors)

    # One rule each, in the order of the table above.

    def _created(self, name: str) -> Value:
        kind = {"zeros_like": "zeros", "new_zeros": "zeros", "zero": "zeros", "ones_like": "ones"}
        kind |= {
            "new_ones": "ones",
            "full_like": "full",
            "new_full": "full",
            "scalar_tensor": "full",
        }
        kind |= {"fill": "full"}
        kind |= {name: "empty" for name in ops.CREATIONS if "empty" in name}
        return self._node("created:" + kind.get(name, name))

    def _attention(self, tensors: list[Value]) -> Value:
        query, key, value, *mask = tensors
        scores = self._scale(self._linear("product", [query, key], ordered=False))
        if mask:
            scores = self._sum([scores, mask[0]])
        return self._linear("product", [self._node("softmax", scores), value], ordered=False)

    def _convolution(self, call: Call, tensors: list[Value]) -> Value:
        image, kernel = (self._tape.values[index] for index in call.reads[:2])
        transposed = call.args[6] if len(call.args) > 6 else False
        groups = call.args[8] if len(call.args) > 8 else 1
        channels = image.shape[1] if image.dim() == kernel.dim() else image.shape[0]
        kind = "dense" if groups == 1 else "depthwise" if groups == channels else "grouped"
        name = f"convolution:{kernel.dim() - 2}d:{kind}:{'transposed' if transposed else 'plain'}"
        # A bias is a detail of the same problem: seen as equal with and without.
        return self._linear(name, tensors[:2], ordered=True)

    def _without_bias(self, call: Call, args: list[Any]) -> Value | None:
        """The product alone, where a vector that nobody computed is added to it: a bias."""
        if len(call.reads) < 2:
            return None
        for product, added, index in ((args[0], args[1], 1), (args[1], args[0], 0)):
            vector = self._tape.values[call.reads[index]].dim() < 2
            if vector and product.key in self._products and added.key in self._leaves:
                return Value(product.key, product.scaled)
        return None

    def _plus(self, name: str, call: Call, args: list[Any]) -> Value:
        left, right = args[0], args[1]
        if name == "add" and (bare := self._without_bias(call, args)) is not None:
            return bare
        if isinstance(left, Value) and _is_guard(right):
            return left
        if name == "sub":
            right = self._scale(right) if isinstance(right, Value) else right
        if name == "rsub":
            left = self._scale(left) if isinstance(left, Value) else left
        return self._sum([self._as_value(left), self._as_value(right)])

    def _times(self, name: str, call: Call, args: list[Any], tensors: list[Value]) -> Value:
        if name == "square":
            return self._product([tensors[0], tensors[0]])
        if name == "div" and call.kwargs.get("rounding_mode"):
            return self._other(f"div:{call.kwargs['rounding_mode']}", call, tensors)
        left, right = args[0], args[1]
        if not isinstance(right, Value):
            return self._scale(left)
        if name == "div":
            right = self._inverse(right)
        return self._product([left, right]) if isinstance(left, Value) else self._scale(right)

    def _power(self, args: list[Any]) -> Value:
        base, exponent = args[0], args[1]
        if not isinstance(base, Value) or isinstance(exponent, Value):
            operands = [self._as_value(base), self._as_value(exponent)]
            return self._node("pow", *operands)
        match float(exponent):
            case 1.0:
                return base
            case 2.0 | 3.0 | 4.0 as n:
                return self._product([base] * int(n))
            case 0.5:
                return self._node("sqrt", base)
            case -0.5:
                return self._inverse(self._node("sqrt", base))
            case -1.0:
                return self._inverse(base)
            case other:
                return self._node(f"pow:{other:g}", base)

    def _total(self, call: Call, value: Value) -> Value:
        read = self._tape.values[call.reads[0]]
        written = self._tape.values[call.writes[0]]
        if read.numel() == written.numel():
            return value  # over axes of size one
        scope = "all" if written.numel() == 1 and read.numel() > 1 else "some"
        total = Value(_digest("sum", scope, value.key), value.scaled)
        return self._scale(total) if call.name == "mean" else total

    # A norm's own weight and bias are learned, however many axes they have.

    def _layer_norm(self, image: Value) -> Value:
        centred = self._sum([image, self._scale(self._some_sum(image))])
        return self._normed(centred)

    def _normed(self, image: Value) -> Value:
        spread = self._scale(self._some_sum(self._product([image, image])))
        return self._product([image, self._inverse(self._node("sqrt", spread))])

    def _some_sum(self, value: Value) -> Value:
        return Value(_digest("sum", "some", value.key), value.scaled)

    def _clamp(self, name: str, args: list[Any], call: Call) -> Value:
        low = args[1] if len(args) > 1 else call.kwargs.get("min")
        high = args[2] if len(args) > 2 else call.kwargs.get("max")
        if high is None and isinstance(low, int | float) and low == 0:
            return self._node("relu", args[0])
        if high is None and _is_guard(low):
            return self._as_value(args[0])
        bounds = ("low" if low is not None else "") + ("high" if high is not None else "")
        extra = [bound for bound in (low, high) if isinstance(bound, Value)]
        return self._node(f"clamp:{bounds}", args[0], *extra)

    def _choice(self, name: str, args: list[Any]) -> Value:
        # masked_fill(x, mask, v) is where(mask, v, x); which branch is masked is a matter of spelling
        condition = args[0] if name == "where" else args[1]
        branches = args[1:3] if name == "where" else [args[0], args[2] if len(args) > 2 else None]
        sides = sorted(_seen(self._as_value(branch)) for branch in branches)
        return Value(_digest("where", _seen(condition), *sides))

    def _part(self, call: Call, place: int, args: list[Any]) -> Value:
        whole = self._tape.values[call.reads[0]]
        piece = self._tape.values[call.writes[place]] if call.writes else whole
        if piece.numel() == whole.numel():
            return self._as_value(args[0])
        position = _position(call, place, whole)
        held = self._as_value(args[0])
        return Value(_digest("part", position, held.key), held.scaled)

    def _other(self, name: str, call: Call, tensors: list[Value]) -> Value:
        words = [arg for arg in (*call.args, *call.kwargs.values()) if isinstance(arg, str)]
        name = ":".join([name, *words])  # e.g. gelu's approximation
        if "batch_norm" in name or "group_norm" in name:
            tensors = _computed(tensors)
        seen = [_seen(value) for value in tensors]
        if name in SYMMETRIC:
            seen.sort()
        if name in ops.REDUCTIONS and call.reads and call.writes:
            read = self._tape.values[call.reads[0]].numel()
            written = self._tape.values[call.writes[0]].numel()
            if written < read:
                name = f"{name}:{'all' if written == 1 else 'some'}"
        return Value(_digest(name, *seen))

    # Sums, products and factors.

    def _linear(
        self, name: str, operands: list[Value], *, ordered: bool, more: list[Value] | None = None
    ) -> Value:
        """A node that is linear in each operand: numeric factors move out of it."""
        keys = [operand.key for operand in operands]
        key = _digest(name, *(keys if ordered else sorted(keys)))
        result = Value(key, any(operand.scaled for operand in operands))
        self._products.add(key)
        return self._sum([result, *more]) if more else result

    def _sum(self, operands: list[Value]) -> Value:
        operands = _computed(operands)
        if len(operands) == 1:
            return operands[0]
        flat: Counter[str] = Counter()
        for operand in operands:
            terms = self._terms.get("+" + operand.key) if not operand.scaled else None
            flat.update(terms or {_seen(operand): 1})
        number = self._number().key
        if flat[number] > 1:
            flat[number] = 1  # numbers add up to a number
        return self._commuting("+", flat, scaled=False)

    def _product(self, operands: list[Value]) -> Value:
        operands = _computed(operands)
        if len(operands) == 1:
            return operands[0]
        flat: Counter[str] = Counter()
        scaled = False
        for operand in operands:
            scaled |= operand.scaled
            flat.update(self._terms.get("*" + operand.key) or {operand.key: 1})
        return self._commuting("*", flat, scaled=scaled)

    def _commuting(self, sign: str, flat: Counter[str], *, scaled: bool) -> Value:
        key = _digest(sign, *sorted(flat.elements()))
        self._terms[sign + key] = flat
        return Value(key, scaled)

    def _scale(self, value: Value) -> Value:
        return replace(value, scaled=True)

    def _inverse(self, value: Value) -> Value:
        return replace(value, key=_digest("reciprocal", value.key))

    def _node(self, name: str, *operands: Value) -> Value:
        return Value(_digest(name, *(_seen(operand) for operand in operands)))

    def _number(self) -> Value:
        return Value(_digest("number"))

    def _as_value(self, operand: Any) -> Value:
        return operand if isinstance(operand, Value) else self._number()

    def _operand(self, argument: Any) -> Any:
        if isinstance(argument, Slot):
            return self.of(argument.index)
        if isinstance(argument, list | tuple):
            return [self._operand(part) for part in argument]
        return argument


def _computed(operands: list[Value]) -> list[Value]:
    """The operands that are not merely learned; all of them if there is no other."""
    return [value for value in operands if not value.learned] or operands


def _is_vector(tensor: torch.Tensor) -> bool:
    return bool(tensor.numel() == max(tensor.shape, default=1))


def _position(call: Call, place: int, whole: torch.Tensor) -> str:
    """Which part of a tensor: head, tail or middle."""
    if call.name in ("split", "split_with_sizes", "unbind", "chunk", "unsafe_split"):
        last = len(call.writes) - 1
        return "head" if place == 0 else "tail" if place == last else "middle"
    dim = call.args[1] if len(call.args) > 1 else 0
    size = whole.shape[dim]
    if call.name == "select":
        index = call.args[2] % size
        return "head" if index == 0 else "tail" if index == size - 1 else "middle"
    start = call.args[2] if len(call.args) > 2 and call.args[2] is not None else 0
    end = call.args[3] if len(call.args) > 3 and call.args[3] is not None else size
    if call.name == "narrow":
        end = start + end
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    step = call.args[4] if len(call.args) > 4 else 1
    stride = f"/{'step' if step != 1 else ''}"
    return ("head" if start == 0 else "tail" if end >= size else "middle") + stride.rstrip("/")


def _seen(value: Value) -> str:
    """How a node that is not linear sees an operand: with its factor, if it has one."""
    return _digest("scaled", value.key) if value.scaled else value.key


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _is_guard(value: Any) -> bool:
    return isinstance(value, float) and 0 < abs(value) <= GUARD


def _storage(value: torch.Tensor) -> int:
    return int(value.untyped_storage()._cdata)
