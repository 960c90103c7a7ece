"""Runs inside the sandbox: the facts of programs, of fakes at any size or of real runs.

Request: {"codes": programs, "fake": bool, "most_calls": int, "tolerance": [atol, rtol] or null}.
Answer: {"answers": one a program}. Each has the keys of `facts.facts_of`; of a real run also
`finite`, `seconds` (of the second call) and, where a tolerance is given, `tells_apart`: whether the
output for other inputs lies outside it. Errors of a program: {"fault": reason, "detail": line}.
"""

import time
from typing import Any

import torch

from pipeline.tracing.facts import facts_of
from pipeline.tracing.program import Program, ProgramError, blamed, clones, outputs_of
from pipeline.tracing.record import faking, record_forward


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    fake, most_calls, tolerance = request["fake"], request["most_calls"], request.get("tolerance")
    return {"answers": [_trace(code, fake, most_calls, tolerance) for code in request["codes"]]}


def _trace(code: str, fake: bool, most_calls: int, tolerance: list[float] | None) -> dict[str, Any]:
    try:
        program = Program(code)
        if fake:
            with faking():
                return _facts(program, most_calls)
        return _facts(program, most_calls) | _run(program, tolerance)
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def _facts(program: Program, most_calls: int) -> dict[str, Any]:
    model, inputs = program.model(), program.inputs()
    with torch.no_grad():
        return facts_of(record_forward(model, inputs, most_calls), model, inputs)


def _run(program: Program, tolerance: list[float] | None) -> dict[str, Any]:
    """A second run, without the recorder: are the results numbers, and how long does it take?"""
    model, inputs = program.model(), program.inputs()
    with torch.no_grad(), blamed("forward_fails"):
        outputs_of(model(*clones(inputs)))
        begin = time.perf_counter()
        outputs = [one.clone() for one in outputs_of(model(*inputs))]
        seconds = time.perf_counter() - begin
        finite = all(bool(torch.isfinite(o).all()) for o in outputs if o.is_floating_point())
        told = {"finite": finite, "seconds": seconds}
        if tolerance is not None:
            others = outputs_of(model(*program.inputs(seed=2)))
            told["tells_apart"] = _apart(outputs, others, *tolerance)
    return told


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
for _fake in (True, False):
    handle({"codes": [_WARM_UP], "fake": _fake, "most_calls": 1000})
