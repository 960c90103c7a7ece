"""Tries a guess: builds the model, runs it once, and says how far it came."""

import ast
import linecache
import math
import sys
import traceback
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pipeline.tracing.program import sow

from . import lexicon, noise
from .literals import compared_literals, is_number
from .state import Input, State

FILE = "<program>"
MAX_MULTIPLICATIONS = 1_500_000_000
"""Of one forward: a fifth of a second on one core. A dearer guess is tried again at smaller sizes;
the sizes that a problem is measured at come later, from the stage `shapes`."""
MAX_PARAMETERS = 100_000_000
"""400 MB of float32, initialised in half a second."""
MAX_ELEMENTS = 1 << 23
"""A guess must stay cheap on a CPU: 32 MB of float32."""


@dataclass
class Outcome:
    """How far a guess came. `stage` is 0 for the arguments, 1 for the model, 2 for its forward."""

    ok: bool
    stage: int
    progress: int = 0
    kind: str = ""
    message: str = ""
    lines: list[tuple[str, str]] = field(
        default_factory=list
    )  # (function, source line), outermost first
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    op: str = ""
    learnt: dict[str, str] = field(default_factory=dict)
    compared: list[tuple[int, int]] = field(
        default_factory=list
    )  # numbers that should have been equal
    cost: int = 0
    output: Any = None
    finite: bool = True


class TooCostly(Exception):
    """A guess that no base shape needs: judged by counting, so that no clock decides."""


class Tape(TorchFunctionMode):
    """Counts calls into torch that compute, adds up what they cost, and remembers the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.cost = 0
        self.elements = 0
        self.last: tuple[Any, Any, Any] = (None, (), {})

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.last = (func, args, kwargs)
        name = getattr(func, "__name__", "")
        self.count += name not in _LOOKS
        if (
            len(args) > 1
            and isinstance(args[0], torch.Tensor)
            and isinstance(args[1], torch.Tensor)
            and not (is_lazy(args[0]) or is_lazy(args[1]))
        ):
            cost = self.cost + _multiplications(name, args[0], args[1])
            if name in _CONVOLUTIONS:
                cost = self.cost + (cost - self.cost) // _strides(args, kwargs or {})
            if cost + _WRITE * _spread(name, args[0], args[1]) > MAX_MULTIPLICATIONS:
                _would_fit(name, func, args, kwargs or {})
                raise TooCostly("too costly a guess")
            self.cost = cost
        result = noise.fill(name, args, kwargs or {})
        if result is None:
            result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not is_lazy(result):
            self.cost += _WRITE * result.numel()
            if name in _CREATE:
                self.elements += result.numel()
                if self.elements > MAX_PARAMETERS:
                    raise TooCostly("too many parameters for a guess")
        return result


def _would_fit(name: str, func: Any, args: Any, kwargs: Any) -> None:
    """Lets torch say what does not fit, on tensors without data: a wrong shape is no matter of cost.

    Raises:
        RuntimeError: torch's own, or for a convolution, where tensors without data tell less, like it.
    """
    if name in _CONVOLUTIONS:
        groups = args[6] if len(args) > 6 else kwargs.get("groups", 1)
        weight, given = list(args[1].shape), list(args[0].shape)
        if len(weight) == len(given) and given[1] != weight[1] * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {weight}, expected input{given} to have "
                f"{weight[1] * groups} channels, but got {given[1]} channels instead"
            )

    def bare(value: Any) -> Any:
        return value.detach().to("meta") if isinstance(value, torch.Tensor) else value

    try:
        func(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    except NotImplementedError:
        return


_WRITE = 8
"""Multiplications in the time that one element of a result takes to be written to new memory."""
_POINTWISE = frozenset({"add", "sub", "mul", "div", "pow", "maximum", "minimum", "where"})
_LOOKS = frozenset({"__get__", "__getitem__", "__len__", "__iter__", "size", "dim", "unbind"})
"""Calls that compute nothing: what is no tensor but given as one would seem to come far with them."""
_CONVOLUTIONS = frozenset({"conv1d", "conv2d", "conv3d"})
_CREATE = frozenset({"empty", "zeros", "ones", "randn", "rand", "full"})


def _multiplications(name: str, one: torch.Tensor, other: torch.Tensor) -> int:
    if name.startswith("conv") and one.dim() > 1:
        return one.numel() // max(one.shape[1], 1) * other.numel()
    if name == "linear":
        return one.numel() * other.shape[0]
    if name in ("matmul", "bmm", "mm", "__matmul__", "baddbmm"):
        return one.numel() * (other.shape[-1] if other.dim() else 1)
    if name == "scaled_dot_product_attention" and other.dim() > 1:
        return 2 * one.numel() * other.shape[-2]
    return one.numel() // 8


def _strides(args: Any, kwargs: Any) -> int:
    """Places of a convolution's input for each place of its output."""
    stride = args[3] if len(args) > 3 else kwargs.get("stride", 1)
    every = stride if isinstance(stride, list | tuple) else [stride] * (args[0].dim() - 2)
    return max(1, math.prod(one for one in every if isinstance(one, int)))


def _spread(name: str, one: torch.Tensor, other: torch.Tensor) -> int:
    """Elements of a pointwise result that broadcasting makes larger than both operands."""
    if name not in _POINTWISE or one.shape == other.shape:
        return 0
    try:
        return math.prod(torch.broadcast_shapes(one.shape, other.shape))
    except RuntimeError:
        return 0  # torch will say what is wrong


class Config:
    """A config whose attributes come into being when they are read."""

    def __init__(self, program: "Program", prefix: str, known: dict[str, str]) -> None:
        self.__dict__["_inside"] = (program, prefix, known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        program, prefix, known = self.__dict__["_inside"]
        key = f"{prefix}.{name}"
        if key not in known:
            if name in program.soft:
                raise AttributeError(name)
            known[key] = program.default(key, name, known)
        value = program.value(known[key], key, known)
        self.__dict__[name] = value
        return value

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise KeyError(name)
        _program, prefix, known = self.__dict__["_inside"]
        known[f"{prefix}.__dict__"] = "True"
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        _program, prefix, known = self.__dict__["_inside"]
        known[f"{prefix}.__dict__"] = "True"
        return self.__dict__.get(name, default)

    def __deepcopy__(self, memo: Any) -> "Config":
        twin = Config(*self.__dict__["_inside"])
        twin.__dict__.update(self.__dict__)
        return twin

    def __copy__(self) -> "Config":
        return self.__deepcopy__({})

    def __contains__(self, name: str) -> bool:
        return False

    def __iter__(self) -> Any:
        raise TypeError("'Config' object is not iterable")


class Program:
    """The class and what it needs, executed once; models are built from it again and again."""

    def __init__(self, code: str, request: Mapping[str, Any]) -> None:
        self.code = code
        self.lines = code.split("\n")
        self.soft = frozenset(request.get("soft", ()))
        self.defaults: dict[str, str] = request.get("config_defaults", {})
        own: dict[str, str] = request.get("defaults", {})
        self.integers = {name: int(text) for name, text in own.items() if text.isdigit()}
        self.module = types.ModuleType("program")
        sys.modules["program"] = self.module
        linecache.cache[FILE] = (len(code), None, code.splitlines(True), FILE)
        self._conditions: dict[int, list[ast.expr]] | None = None
        self._models: dict[Any, tuple[Any, dict[str, str]]] = {}
        exec(compile(code, FILE, "exec"), self.module.__dict__)
        self.names = dict(self.module.__dict__)
        self.literals = compared_literals(ast.parse(code), self.names)
        self.names.setdefault("torch", torch)
        self.names.setdefault("nn", torch.nn)
        self.names.setdefault("F", torch.nn.functional)
        self.names.setdefault("math", math)

    def value(self, source: str, name: str, known: dict[str, str]) -> Any:
        """What a source text stands for."""
        if source == lexicon.CONFIG:
            return Config(self, name, known)
        return eval(source, self.names)

    def candidates(self, name: str, annotation: str = "") -> tuple[tuple[str, ...], bool]:
        """Likely values of an argument, those that the code compares it with first; is it a size?"""
        found, is_size = lexicon.values(name, annotation)
        literals = self.literals.get(name, ())
        if not literals:
            return found, is_size
        usual = tuple(one for one in found if one in literals)
        if is_number(literals[0]) or not is_number(found[0]):
            return tuple(dict.fromkeys((*usual, *literals, *found))), False
        return tuple(dict.fromkeys((found[0], *literals, *found[1:]))), is_size

    def default(self, key: str, name: str, known: Mapping[str, str]) -> str:
        """The likeliest value of a config attribute; sizes differ from each other."""
        if name in self.defaults:
            return self.defaults[name]
        found, is_size = self.candidates(name)
        if is_size:
            taken = set(known.values())
            return next((size for size in found if size not in taken), found[0])
        return found[0]

    def attempt(self, state: State) -> Outcome:
        sow(0)
        learnt = {name: source for name, source in state.args if "." in name}
        kwargs = {}
        try:
            for name, source in state.args:
                if "." not in name:
                    kwargs[name] = self.value(source, name, learnt)
        except Exception as error:  # noqa: BLE001  crawled code may raise anything
            return self._failure(error, 0, Tape(), learnt)
        tape = Tape()
        stage = 1
        try:
            model, learnt = self._model(state, kwargs, learnt, tape)
            if state.inputs is None:
                return Outcome(True, 1, learnt=dict(learnt), output=model)
            stage = 2
            tape.count = tape.cost = 0
            inputs = {one.name: tensor(one) for one in state.inputs}
            with torch.no_grad(), tape:
                output = call(model, inputs)
        except (KeyboardInterrupt, MemoryError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  crawled code may raise anything, SystemExit too
            return self._failure(error, stage, tape, learnt)
        tensors = flatten(output)
        outcome = Outcome(
            bool(tensors), 2, tape.count, learnt=dict(learnt), output=output, cost=tape.cost
        )
        if not tensors:
            outcome.kind, outcome.message = "NoTensor", f"forward gives {type(output).__name__}"
        outcome.finite = all(
            bool(torch.isfinite(one).all())
            for one in tensors
            if one.is_floating_point() or one.is_complex()
        )
        return outcome

    def _model(
        self, state: State, kwargs: dict[str, Any], learnt: dict[str, str], tape: Tape
    ) -> tuple[Any, dict[str, str]]:
        """The model of a state, and what its configs learn: they go on doing so in each forward."""
        key = state.args
        if key not in self._models:
            with tape:
                model = self.module.__dict__["Model"](**kwargs)
            if not isinstance(model, torch.nn.Module):
                raise TypeError("Model is no nn.Module")
            if any(map(is_lazy, [*model.parameters(), *model.buffers()])):
                return model, learnt  # its first forward gives it shapes: none is used twice
            if len(self._models) > 3:
                self._models.clear()
            self._models[key] = (model, learnt)
        return self._models[key]

    def _failure(
        self, error: BaseException, stage: int, tape: Tape, learnt: dict[str, str]
    ) -> Outcome:
        lines = []
        compared: list[tuple[int, int]] = []
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == FILE:
                lines.append((frame.f_code.co_qualname, _statement(self.lines, number)))
                compared = self._compared(frame, number)
        func, args, kwargs = tape.last
        shapes = [tuple(one.shape) for one in flatten((args, kwargs))]
        message = str(error).strip() or type(error).__name__
        return Outcome(
            False,
            stage,
            tape.count,
            type(error).__name__,
            message[:2000],
            lines,
            shapes,
            getattr(func, "__name__", ""),
            dict(learnt),
            compared,
            tape.cost + 4 * tape.elements,
        )

    def _compared(self, frame: types.FrameType, number: int) -> list[tuple[int, int]]:
        """What `assert a == b` or `if a != b: raise` compared, evaluated once more in its frame."""
        found: list[tuple[int, int]] = []
        for test in self._tests().get(number, ()):
            for node in ast.walk(test):
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                    both = ast.Tuple([node.left, node.comparators[0]], ast.Load())
                    code = compile(ast.fix_missing_locations(ast.Expression(both)), FILE, "eval")
                    try:
                        one, other = eval(code, frame.f_globals, frame.f_locals)
                    except Exception:  # noqa: BLE001  whatever an operand raises, there is no hint
                        continue
                    found += _pairs(one, other)
        return found

    def _tests(self) -> dict[int, list[ast.expr]]:
        """By line: the conditions whose failure raises there."""
        if self._conditions is None:
            self._conditions = {}
            for node in ast.walk(ast.parse(self.code)):
                if isinstance(node, ast.Assert):
                    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                        self._conditions.setdefault(number, []).append(node.test)
                elif isinstance(node, ast.If):
                    for inner in node.body:
                        if isinstance(inner, ast.Raise):
                            for number in range(
                                inner.lineno, (inner.end_lineno or inner.lineno) + 1
                            ):
                                self._conditions.setdefault(number, []).append(node.test)
        return self._conditions


def is_lazy(one: torch.Tensor) -> bool:
    """Whether a parameter or buffer has no shape before the first forward."""
    return torch.nn.parameter.is_lazy(one)


def _pairs(one: Any, other: Any) -> list[tuple[int, int]]:
    if isinstance(one, int) and isinstance(other, int) and not isinstance(one, bool):
        return [(one, other)] if one != other else []
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return [
            pair for left, right in zip(one, other, strict=True) for pair in _pairs(left, right)
        ]
    return []


def _statement(lines: list[str], number: int) -> str:
    """The line, and the following ones while a bracket is open."""
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    extra = 0
    while number + extra < len(lines) and extra < 12 and text.count("(") > text.count(")"):
        text += " " + lines[number + extra].strip()
        extra += 1
    return text


def call(model: torch.nn.Module, inputs: Mapping[str, Any]) -> Any:
    """Calls by position as far as possible: that is how the finished program is called."""
    args: list[Any] = []
    extra: dict[str, Any] = {}
    for name, value in inputs.items():
        if name.startswith("*"):
            args.extend(value) if isinstance(value, list | tuple) else args.append(value)
        else:
            extra[name] = value
    return model(*args, **extra)


def tensor(one: Input) -> Any:
    """Draws an input."""
    if one.kind == "value":
        return eval(one.source, {"torch": torch})
    if one.kind in ("list", "tuple"):
        items = [tensor(item) for item in one.items]
        return items if one.kind == "list" else tuple(items)
    if math.prod(one.dims) > MAX_ELEMENTS:
        raise ValueError("too large a guess")
    if one.dtype == "int64" and one.draw == "last":
        return torch.full(one.dims, one.bound - 1)
    if one.dtype == "int64":
        return torch.randint(0, max(one.bound, 1), one.dims)
    if one.dtype == "bool":
        return (
            torch.ones(one.dims, dtype=torch.bool)
            if one.draw == "ones"
            else torch.rand(one.dims) > 0.5
        )
    if one.dtype == "complex64":
        return torch.randn(one.dims, dtype=torch.complex64)
    if one.draw == "uniform":
        return torch.rand(one.dims)
    if one.draw == "ones":
        return torch.ones(one.dims)
    return noise.normal(one.dims)


def flatten(value: Any, depth: int = 0) -> list[torch.Tensor]:
    """The tensors inside nested lists, tuples, dicts and dataclasses, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth > 6:
        return []
    if isinstance(value, Mapping):
        value = list(value.values())
    elif hasattr(value, "__dataclass_fields__"):
        value = [getattr(value, name, None) for name in value.__dataclass_fields__]
    elif type(value).__module__ == "torch.distributions" or hasattr(value, "rsample"):
        return []
    if isinstance(value, list | tuple):
        return [one for item in value for one in flatten(item, depth + 1)]
    return []
