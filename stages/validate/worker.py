"""Runs inside the sandbox: what a program does, told in numbers. The gates decide elsewhere.

`handle` runs next to the crawled program; `judge` in a fresh process that has never seen it, and
computes from the raw results whatever a rejection or a tolerance rests on.

Request: {"code": program}. Answer: all that stages/validate/gates look at, or, where the program
is at fault, {"fault": reason, "detail": line}.
"""

import warnings
from typing import Any

import torch

from pipeline.tracing.facts import depends_on_data, facts_of
from pipeline.tracing.program import Program, ProgramError, clones
from pipeline.tracing.record import record_forward
from pipeline.tracing.tape import Tape
from stages.validate.probes import numbers, parts, precision, runs, tamper

Seen = dict[str, Any]

_torch_as_it_is: dict[str, int] = {}  # filled below, once, before any program runs


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    try:
        return _observe(request["code"])
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def judge(request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    results = answer.pop("results", None)
    return answer if results is None else answer | numbers.judge(**results)


def _observe(code: str) -> Seen:
    with warnings.catch_warnings(record=True) as warned:
        subject = runs.Subject(Program(code))
        seen = runs.twice(subject)
        others, results = runs.other_inputs(subject)
        seen |= others | runs.each_input(subject) | runs.training(subject)
        seen |= runs.wide_inputs(subject)
        tapes, called = _tapes(subject)
        most = parts.affordable(tapes[0])
        seen |= parts.parameters(subject, tapes, most)
        seen |= parts.modules(subject, called, tapes)
        seen |= parts.calls(tapes[0], most)
        seen |= facts_of(tapes[0], subject.model, subject.inputs)
        exact = precision.in_precision(subject, torch.float64)
        coarse = precision.in_precision(subject, torch.bfloat16)
    seen["no_float64"] = exact if isinstance(exact, str) else ""
    seen["no_bfloat16"] = coarse if isinstance(coarse, str) else ""
    seen["warnings"] = len(warned)
    seen["replaced"] = tamper.replaced(_torch_as_it_is)
    seen["results"] = {
        "base": numbers.sample(subject.base),
        "others": [numbers.sample(result) for result in results],
        "exact": None if isinstance(exact, str) else numbers.sample(exact),
        "coarse": None if isinstance(coarse, str) else numbers.sample(coarse),
        "copies": _copies(subject),
    }
    return seen


def _tapes(subject: runs.Subject) -> tuple[list[Tape], set[str]]:
    """The recorded forward, with other inputs as well where control flow may depend on them."""
    called: set[str] = set()
    hooks = [
        module.register_forward_pre_hook(lambda m, a, path=path: called.add(path))
        for path, module in subject.model.named_modules()
    ]
    with torch.no_grad():
        tapes = [record_forward(subject.model, clones(subject.inputs))]
        if depends_on_data(tapes[0]):
            for inputs in subject.others:
                tapes.append(record_forward(subject.model, clones(inputs)))
    for hook in hooks:
        hook.remove()
    return tapes, called


def _copies(subject: runs.Subject) -> list[torch.Tensor]:
    """Inputs that could be handed back as the answer."""
    alike = [
        value
        for value in subject.inputs
        if isinstance(value, torch.Tensor) and value.shape == subject.base[0].shape
    ]
    return numbers.sample(alike)


_WARM_UP = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)
        self.linear = torch.nn.Linear(4, 4)
        self.conv = torch.nn.Conv2d(2, 2, 3)
    def forward(self, x):
        y = self.conv(torch.nn.functional.gelu(self.linear(self.norm(x))))
        return torch.softmax(y, -1) + torch.einsum("bchw,bchv->bcwv", y, y).mean()
def get_inputs():
    return [torch.randn(1, 2, 4, 4)]
def get_init_inputs():
    return []
"""
# What torch imports late is imported here, once, before the server forks.
handle({"code": _WARM_UP})
_torch_as_it_is.update(tamper.snapshot())
