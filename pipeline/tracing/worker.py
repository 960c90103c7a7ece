"""Runs inside the sandbox: the facts of programs, of fakes at any size or of real runs.

Request: {"codes": programs, "kind": "fake", "real" or "run", "most_calls": int, "tolerance":
[atol, rtol] or null, "known": {"code", "facts"} or null, "quick": bool or null}. Answer: {"answers": one a program}. `fake`
and `real` give the keys of `facts.facts_of`; `real` and `run` give `finite` and, with a tolerance,
`tells_apart`: whether the output for other inputs lies outside it. Errors of a program: {"fault":
reason, "detail": line}.

Meta tensors are traced six times as fast as fakes but are on no CPU, so a program may take another
way with them. `known` is a program whose facts are known: if meta tensors give the very same ones, the
programs are traced with them too; what fails then is asked of fakes. Each answer says whether that was
so (`quick`); who has asked before may say it in the request instead of `known`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from pipeline.tracing.facts import facts_of
from pipeline.tracing.program import Program, ProgramError, blamed, outputs_of
from pipeline.tracing.record import Settle, faking, for_real, on_meta, record_forward

Tensors = Callable[[], AbstractContextManager[Settle]]  # of which kind, inside the block


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    kind, most_calls = request["kind"], request["most_calls"]
    if kind == "fake":
        known, quick = request.get("known"), request.get("quick")
        if quick is None and known is not None:
            quick = _same_on_meta(known["code"], known["facts"], most_calls)
        answers = [_traced(code, most_calls, bool(quick)) for code in request["codes"]]
        return {"answers": [a if quick is None else a | {"quick": quick} for a in answers]}
    tolerance = request.get("tolerance")

    def executed(program: Program) -> dict[str, Any]:
        facts = _facts(program, program.model(), most_calls) if kind == "real" else {}
        return facts | _run(program, tolerance)

    return {"answers": [_told(code, executed) for code in request["codes"]]}


def _told(code: str, look: Callable[[Program], dict[str, Any]]) -> dict[str, Any]:
    """What a look at the program shows, or its fault."""
    try:
        return look(Program(code))
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def _traced(code: str, most_calls: int, quick: bool) -> dict[str, Any]:
    if quick:
        told = _facts_with(code, most_calls, on_meta)
        if told.get("fault") in (None, "too_many_ops"):
            return told
    return _facts_with(code, most_calls, faking)


def _same_on_meta(code: str, facts: dict[str, Any], most_calls: int) -> bool:
    told = _facts_with(code, most_calls, on_meta)
    told["ops"] = dict(told.get("ops", []))
    return all(told.get(name) == value for name, value in facts.items())


def _facts_with(code: str, most_calls: int, tensors: Tensors) -> dict[str, Any]:
    def look(program: Program) -> dict[str, Any]:
        with tensors() as settle:
            return _facts(program, _model(program, settle), most_calls)

    return _told(code, look)


def _facts(program: Program, model: torch.nn.Module, most_calls: int) -> dict[str, Any]:
    inputs = program.inputs()
    with torch.no_grad():
        return facts_of(record_forward(model, inputs, most_calls), model, inputs)


def _model(program: Program, settle: Settle) -> torch.nn.Module:
    """The model, without weights in memory; with real ones meanwhile if it can't be made otherwise.

    Many constructors read numbers out of a tensor, e.g. rates of drop path out of a linspace.
    """
    try:
        return program.model()
    except ProgramError as error:
        if error.reason != "does_not_construct":
            raise
        with for_real():
            model = program.model()
        return settle(model)


def _run(program: Program, tolerance: list[float] | None) -> dict[str, Any]:
    """A run without the recorder: are the results numbers, do they depend on the inputs?"""
    model = program.model()
    with torch.no_grad(), blamed("forward_fails"):
        outputs = [one.clone() for one in outputs_of(model(*program.inputs()))]
        finite = all(bool(torch.isfinite(o).all()) for o in outputs if o.is_floating_point())
        if tolerance is None:
            return {"finite": finite}
        others = outputs_of(model(*program.inputs(seed=2)))
        return {"finite": finite, "tells_apart": _apart(outputs, others, *tolerance)}


def _apart(outputs: list[Any], others: list[Any], atol: float, rtol: float) -> bool:
    """Whether some element differs by more than a right answer may."""
    return len(outputs) != len(others) or any(
        one.shape != other.shape or not torch.allclose(other, one, rtol=rtol, atol=atol)
        for one, other in zip(outputs, others, strict=True)
    )


_WARM_UP = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.LayerNorm(4), torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Conv2d(2, 2, 3)
        )
    def forward(self, x):
        return torch.softmax(self.layers(x), -1)
def get_inputs():
    return [torch.randn(1, 2, 4, 4)]
def get_init_inputs():
    return []
"""
# What torch imports late is imported here, once, before the server forks.
for _kind in ("fake", "real"):
    handle({"codes": [_WARM_UP], "kind": _kind, "most_calls": 1000})
_facts_with(_WARM_UP, 1000, on_meta)
