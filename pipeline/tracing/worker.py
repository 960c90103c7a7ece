"""Runs inside the sandbox: the facts of programs, of fakes at any size or of real runs.

Request: {"codes": programs, "kind": "fake", "real" or "run", "most_calls": int, "tolerance":
[atol, rtol] or null}. Answer: {"answers": one a program}. `fake` and `real` give the keys of
`facts.facts_of`; `real` and `run` give `finite` and, with a tolerance, `tells_apart`: whether the
output for other inputs lies outside it. Errors of a program: {"fault": reason, "detail": line}.
"""

from typing import Any

import torch

from pipeline.tracing.facts import facts_of
from pipeline.tracing.program import Program, ProgramError, blamed, outputs_of
from pipeline.tracing.record import faking, record_forward


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    kind, most_calls, tolerance = request["kind"], request["most_calls"], request.get("tolerance")
    return {"answers": [_answer(code, kind, most_calls, tolerance) for code in request["codes"]]}


def _answer(code: str, kind: str, most_calls: int, tolerance: list[float] | None) -> dict[str, Any]:
    try:
        program = Program(code)
        if kind == "fake":
            with faking():
                return _facts(program, most_calls)
        facts = _facts(program, most_calls) if kind == "real" else {}
        return facts | _run(program, tolerance)
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def _facts(program: Program, most_calls: int) -> dict[str, Any]:
    model, inputs = program.model(), program.inputs()
    with torch.no_grad():
        return facts_of(record_forward(model, inputs, most_calls), model, inputs)


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
