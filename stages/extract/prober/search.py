"""Best-first search for arguments and inputs with which a class runs."""

import heapq
import inspect
import itertools
import re
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from . import lexicon
from .adapter import is_flat, paths_to_tensors
from .assembly import COMPARED, Definitions, Finished, assemble
from .attempt import Outcome, Program
from .bounds import with_bounds
from .guesses import first_guesses
from .relations import untangled, with_arguments
from .repair import repairs
from .state import Input, State
from .verify import verify


def search(request: dict[str, Any]) -> dict[str, Any]:
    """Gives a plan, or the last and farthest error.

    The request holds `class_name`, `imports`, `body` and `names` (definitions; the class is `Model`), `arguments`
    (name → [[source, evidence], …], best first), `defaults` (of the constructor, as source text),
    `hints` for inputs, `tries`, `config_defaults` and `soft`.
    """
    try:
        code = "\n".join(request["imports"]) + "\n\n\n" + request["body"] + "\n"
        program = Program(code, request)
    except Exception as error:  # noqa: BLE001  crawled code may raise anything
        return {
            "found": False,
            "stage": "import",
            "error": f"{type(error).__name__}: {error}"[:300],
            "tries": 0,
        }
    return _Search(program, request).run()


_SIZES_IN_TEXT = re.compile(r"(?<!dimension )(?<!dim )(?<![a-z]{2})(?<!\d)\d+")
"""Numbers but those that say which axis or which operand does not fit: how far a guess came."""
MAX_SPENT = 20_000_000_000
"""Multiplications for one class, over all tries: some seconds."""


class _Search:
    def __init__(self, program: Program, request: dict[str, Any]) -> None:
        self.program = program
        self.request = request
        model = program.module.__dict__["Model"]
        self.constructor = _parameters(model.__init__)
        self.forward = _parameters(model.forward)
        self.optionals = {
            one.name: "" for one in self.forward if one.default is not inspect.Parameter.empty
        }
        self.nullable = [one.name for one in self.constructor if one.default is None]
        self.evidence: dict[str, str] = {}
        self.queue: list[tuple[tuple[int, ...], int, State]] = []
        self.messages: set[tuple[int, str]] = set()  # met, and how far the guess came
        self.order = itertools.count()
        self.waiting: dict[Any, tuple[int, ...]] = {}  # of each state ever met: its best priority
        self.tried: set[Any] = set()
        self.best: Outcome | None = None
        self.rejected: dict[str, Any] | None = None
        self.returned: list[str] = []

    def run(self) -> dict[str, Any]:
        first = self._first_arguments()
        self._push(first, (0, 0))
        for name, found in sorted(self.request["arguments"].items()):
            for source, _ in found[1:]:
                if first.arg(name) is not None and self._exists(source):
                    self._push(first.with_arg(name, source), (0, 0))
        tries = built = spent = 0
        while tries < self.request["tries"] and self.queue:
            waited, _, state = heapq.heappop(self.queue)
            if state.key() in self.tried:
                continue
            self.tried.add(state.key())
            tries += 1
            outcome = self.program.attempt(state)
            spent += outcome.cost
            if spent > MAX_SPENT:
                break
            state = self._learnt(state, outcome)
            if outcome.ok and state.inputs is None:
                built += 1
                self._push_first_inputs(state, outcome.output)
            elif outcome.ok:
                if not outcome.finite:
                    self._push_finite(state, outcome)
                    continue
                finished = self._finished(state, tries)
                if finished["verdict"] == "ok" or finished["verdict"] == "nondeterministic":
                    return finished
                self.rejected = self.rejected or finished
            else:
                if self.best is None or (outcome.stage, outcome.progress) >= (
                    self.best.stage,
                    self.best.progress,
                ):
                    self.best = outcome
                met = (outcome.progress, _SIZES_IN_TEXT.sub("", outcome.message))
                priority = (
                    outcome.stage,
                    outcome.progress,
                    len(self.messages) + 1 if met not in self.messages else 0,
                )
                self.messages.add(met)
                if "too large a guess" in outcome.message:  # never run: as likely as it was
                    priority = (-waited[0], -waited[1], -waited[2])
                for better in itertools.islice(
                    repairs(state, outcome, self.optionals, self.nullable, self.program), 24
                ):
                    self._push(better, priority)
        return self._failure(tries)

    def _push(self, state: State, progress: tuple[int, ...]) -> None:
        key = state.key()
        priority = tuple(-part for part in (*progress, 0)[:3])
        # A state that waits may turn out to be likelier than it seemed.
        if key not in self.tried and (key not in self.waiting or priority < self.waiting[key]):
            self.waiting[key] = priority
            heapq.heappush(self.queue, (priority, next(self.order), state))

    def _first_arguments(self) -> State:
        args: dict[str, str] = {}
        hints = self.request["arguments"]
        taken: set[str] = set()
        for one in self.constructor:
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            if _names_weights(one):
                args[one.name] = "False" if one.default is True else "None"
                self.evidence[one.name] = "no weights are fetched"
                continue
            known = hints.get(one.name)
            if known and (
                one.default is inspect.Parameter.empty or known[0][0] != repr(one.default)
            ):
                usable = [pair for pair in known if self._exists(pair[0])]
                if usable:
                    args[one.name], self.evidence[one.name] = usable[0]
                    continue
            if one.default is not inspect.Parameter.empty:
                if "drop" in one.name and isinstance(one.default, float) and one.default > 0:
                    args[one.name], self.evidence[one.name] = (
                        "0.0",
                        "no dropout: the output must repeat",
                    )
                elif type(one.default) is int and one.default >= 16 and lexicon.values(one.name)[1]:
                    args[one.name], self.evidence[one.name] = str(one.default), "default"
                    taken.add(str(one.default))
                continue
            annotation = (
                "" if one.annotation is inspect.Parameter.empty else _name_of(one.annotation)
            )
            found, is_size = self.program.candidates(one.name, annotation)
            choice = found[0]
            if is_size:
                choice = next((size for size in found if size not in taken), found[0])
                taken.add(choice)
            if choice in ("BasicBlock", "Bottleneck", "Block"):
                choice = next(
                    (name for name in found if name in self.program.names or "." in name), found[0]
                )
            is_compared = choice in self.program.literals.get(one.name, ())
            args[one.name] = choice
            self.evidence[one.name] = COMPARED if is_compared else "name table"
        return State(tuple(args.items()))

    def _exists(self, source: str) -> bool:
        """Whether all names of a call site's value are defined in the program."""
        try:
            eval(source, self.program.names)
        except Exception:  # noqa: BLE001  crawled code may raise anything
            return False
        return True

    def _push_first_inputs(self, state: State, model: Any) -> None:
        required = []
        for one in self.forward:
            if one.kind == one.VAR_POSITIONAL:
                required.append("*" + one.name)
            elif one.kind != one.VAR_KEYWORD and one.default is inspect.Parameter.empty:
                required.append(one.name)
        if len(required) > 1:
            required = [name for name in required if not name.startswith("*")] or required[:1]
        if not required and self.optionals:
            required = [next(iter(self.optionals))]
        hints = self.request.get("hints", {})
        for guess in first_guesses(required, model, hints, self.program.code):
            self._push(replace(state, inputs=guess), (2, 0))

    def _push_finite(self, state: State, outcome: Outcome) -> None:
        """Infinite or NaN: other distributions."""
        self.best = replace_message(outcome, "the output is not finite")
        for draw in ("uniform", "ones"):
            change = partial(_drawn, draw=draw)
            inputs = tuple(one.changed(change) for one in state.inputs or ())
            self._push(replace(state, inputs=inputs), (2, outcome.progress))

    def _learnt(self, state: State, outcome: Outcome) -> State:
        args = dict(state.args)
        for name, source in outcome.learnt.items():
            if name not in args:
                args[name] = source
                short = name.split(".")[-1]
                known = short in self.program.defaults
                self.evidence.setdefault(name, "config default" if known else "name table")
        return replace(state, args=tuple(args.items()))

    def _finished(self, state: State, tries: int) -> dict[str, Any]:
        """The program of a state that ran, and what its users will see."""
        state = untangled(self.program, state)
        output = self.program.attempt(state).output
        self.returned = [] if is_flat(output) else paths_to_tensors(output)
        defaults = {one.name: one.default for one in self.constructor if type(one.default) is int}
        state = with_arguments(state, lambda one: self._assembled(one, tries), defaults)
        state = with_bounds(self.program, state)
        finished = self._assembled(state, tries)
        facts = verify(finished.code, finished.has_float)
        return {"found": True, "tries": tries, **asdict(finished), **facts}

    def _assembled(self, state: State, tries: int) -> Finished:
        request = self.request
        definitions = Definitions(
            tuple(request["imports"]), request["body"], frozenset(request["names"])
        )
        return assemble(definitions, self._plan(state, tries), request["defaults"])

    def _plan(self, state: State, tries: int) -> dict[str, Any]:
        first = dict(self._first_arguments().args)
        passed = {one.name: repr(one.default) for one in self.constructor}
        arguments = []
        for name, source in state.args:
            otherwise = "default" if passed.get(name) == source else "name table"
            evidence = self.evidence.get(name, otherwise)
            if name in first and first[name] != source:
                evidence = "feedback"
            arguments.append({"name": name, "value": source, "evidence": evidence})
        return {
            "found": True,
            "tries": tries,
            "class_name": self._own_name(),
            "returned": self.returned,
            "arguments": arguments,
            "constructor": [_described(one) for one in self.constructor],
            "forward": [_described(one) for one in self.forward],
            "inputs": [_as_dict(one) for one in state.inputs or ()],
            "links": [
                sorted("/".join(path) for path in link) for link in sorted(state.links, key=sorted)
            ],
        }

    def _own_name(self) -> str:
        """What the author calls the class, if the program leaves the name free."""
        name: str = self.request["class_name"]
        return f"{name}Module" if name in self.request["names"] else name

    def _failure(self, tries: int) -> dict[str, Any]:
        if self.rejected is not None:
            return self.rejected
        best = self.best
        stage = "init" if best is None or best.stage < 2 else "forward"
        error = f"{best.kind}: {best.message}" if best else "nothing to try"
        where = best.lines[-1][1] if best and best.lines else ""
        return {
            "found": False,
            "stage": stage,
            "error": error[:300],
            "line": where[:200],
            "tries": tries,
        }


_WEIGHTS = re.compile(r"(\w*_)?pretrained(_\w*)?|(\w+_)?weights")


def _names_weights(one: inspect.Parameter) -> bool:
    """Whether a default asks for trained weights, which a program does not have."""
    return bool(_WEIGHTS.fullmatch(one.name)) and (one.default is True or type(one.default) is str)


def replace_message(outcome: Outcome, message: str) -> Outcome:
    outcome.kind, outcome.message = "NotFinite", message
    return outcome


def _drawn(one: Input, draw: str) -> Input:
    if one.kind == "tensor" and one.dtype == "float32":
        return replace(one, draw=draw)
    return one


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []
    return (
        found[1:]
        if found and found[0].kind in (found[0].POSITIONAL_ONLY, found[0].POSITIONAL_OR_KEYWORD)
        else found
    )


def _name_of(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return (
        getattr(annotation, "__name__", str(annotation))
        if not hasattr(annotation, "__args__")
        else str(annotation)
    )


def _described(one: inspect.Parameter) -> dict[str, Any]:
    has_default = one.default is not inspect.Parameter.empty
    simple = isinstance(one.default, int | float | str | bool | type(None) | tuple)
    return {
        "name": one.name,
        "kind": one.kind.name,
        "default": repr(one.default) if has_default and simple else None,
        "required": not has_default,
    }


def _as_dict(one: Input) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "dims": list(one.dims),
        "dtype": one.dtype,
        "draw": one.draw,
        "bound": one.bound,
        "bound_of": one.bound_of,
        "items": [_as_dict(item) for item in one.items],
        "source": one.source,
        "evidence": one.evidence,
        "is_default": False,
    }
