"""Runs inside the sandbox: the facts of programs, of fakes at any size or of real runs.

Request: {"codes": programs, "fake": bool, "most_calls": int}. Answer: {"answers": one a program}.
Each has the keys of `facts.facts_of`; of a real run also `finite` and `seconds` (of the second
call). Errors of a program: {"fault": reason, "detail": line}.
"""

import time
from typing import Any

import torch

from pipeline.tracing.facts import facts_of
from pipeline.tracing.program import Program, ProgramError, blamed, clones, outputs_of
from pipeline.tracing.record import faking, record_forward


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    fake, most_calls = request["fake"], request["most_calls"]
    return {"answers": [_trace(code, fake, most_calls) for code in request["codes"]]}


def _trace(code: str, fake: bool, most_calls: int) -> dict[str, Any]:
    try:
        program = Program(code)
        if fake:
            with faking():
                return _facts(program, most_calls)
        return _facts(program, most_calls) | _run(program)
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def _facts(program: Program, most_calls: int) -> dict[str, Any]:
    model, inputs = program.model(), program.inputs()
    with torch.no_grad():
        return facts_of(record_forward(model, inputs, most_calls), model, inputs)


def _run(program: Program) -> dict[str, Any]:
    """A second run, without the recorder: are the results numbers, and how long does it take?"""
    model, inputs = program.model(), program.inputs()
    with torch.no_grad(), blamed("forward_fails"):
        outputs_of(model(*clones(inputs)))
        begin = time.perf_counter()
        outputs = outputs_of(model(*inputs))
        seconds = time.perf_counter() - begin
    finite = all(bool(torch.isfinite(o).all()) for o in outputs if o.is_floating_point())
    return {"finite": finite, "seconds": seconds}


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
