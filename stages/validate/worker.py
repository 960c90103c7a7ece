"""Runs inside the sandbox: what a program does, told in numbers. The gates decide elsewhere.

`handle` runs next to the crawled program; `judge` in a fresh process that has never seen it, and
computes from the raw results whatever a rejection or a tolerance rests on.

Tasks (`request["task"]`):
    gates (default)  {"code"} → all that stages/validate/gates look at
    graph            {"code", "fake": bool} → {"graph_sha256", "ops", "rules"}; with fakes (default)
                     no memory is used, however large the sizes
Errors of the program come back as {"fault": reason, "detail": line}.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]

from probes import numbers, parts, precision, runs, tamper  # noqa: E402

from pipeline.tracing import cost, graph, ops  # noqa: E402
from pipeline.tracing.program import Program, ProgramError, clones  # noqa: E402
from pipeline.tracing.record import record, record_forward  # noqa: E402
from pipeline.tracing.tape import Tape  # noqa: E402

Seen = dict[str, Any]


def handle(request: dict[str, Any]) -> dict[str, Any]:
    torch.backends.mha.set_fastpath_enabled(False)  # one fused call would hide what it computes
    try:
        if request.get("task", "gates") == "graph":
            return _graph(request["code"], request.get("fake", True))
        return _observe(request["code"])
    except ProgramError as error:
        return {"fault": error.reason, "detail": error.detail}


def judge(request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    results = answer.pop("results", None)
    return answer if results is None else answer | numbers.judge(**results)


def _observe(code: str) -> Seen:
    before = tamper.snapshot()
    with warnings.catch_warnings(record=True) as warned:
        subject = runs.Subject(Program(code))
        seen = runs.twice(subject)
        others, results = runs.other_inputs(subject)
        seen |= others | runs.each_input(subject) | runs.training(subject)
        seen |= runs.wide_inputs(subject)
        tapes, called = _tapes(subject)
        seen |= parts.parameters(subject, tapes)
        seen |= parts.modules(subject, called, tapes)
        seen |= parts.calls(tapes[0])
        seen |= _facts(subject, tapes[0])
        exact = precision.in_precision(subject, torch.float64)
        coarse = precision.in_precision(subject, torch.bfloat16)
    seen["no_float64"] = exact if isinstance(exact, str) else ""
    seen["no_bfloat16"] = coarse if isinstance(coarse, str) else ""
    seen["warnings"] = len(warned)
    seen["replaced"] = tamper.replaced(before)
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
        tapes = [record_forward(subject.model, subject.model, clones(subject.inputs))]
        if _depends_on_data(tapes[0]):
            for inputs in subject.others:
                tapes.append(record_forward(subject.model, subject.model, clones(inputs)))
    for hook in hooks:
        hook.remove()
    return tapes, called


def _facts(subject: runs.Subject, tape: Tape) -> Seen:
    everything, matrix = cost.flops(tape)
    state = [*subject.model.parameters(), *subject.model.buffers()]
    return {
        "ops": cost.op_counts(tape),
        "working_ops": sum(ops.works(call.func) for call in tape.calls),
        "random_ops": sorted({c.name for c in tape.calls} & ops.RANDOM),
        "depends_on_data": _depends_on_data(tape),
        "graph_sha256": graph.fingerprint(tape),
        "parameters": sum(p.numel() for p in subject.model.parameters()),
        "flops": everything,
        "flops_matrix": matrix,
        "bytes_fused": cost.bytes_fused(tape),
        "bytes_unfused": cost.bytes_unfused(tape),
        "working_set": cost.working_set(tape, cost.tensor_bytes([state, subject.inputs])),
        "outputs": [
            {"shape": list(o.shape), "dtype": str(o.dtype).removeprefix("torch.")}
            for o in subject.base
        ],
        "dtypes": sorted({str(v.dtype).removeprefix("torch.") for v in tape.values}),
    }


def _depends_on_data(tape: Tape) -> list[str]:
    return sorted({c.name for c in tape.calls} & (ops.READS_TO_PYTHON | ops.DATA_SHAPED))


def _copies(subject: runs.Subject) -> list[torch.Tensor]:
    """Inputs that could be handed back as the answer."""
    alike = [
        value
        for value in subject.inputs
        if isinstance(value, torch.Tensor) and value.shape == subject.base[0].shape
    ]
    return numbers.sample(alike)


def _graph(code: str, fake: bool) -> dict[str, Any]:
    tape = record(Program(code), fake)
    return {
        "graph_sha256": graph.fingerprint(tape),
        "ops": cost.op_counts(tape),
        "rules": graph.RULES,
        "torch": torch.__version__,
    }


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
handle({"code": _WARM_UP, "task": "graph"})
sys.modules.pop("problem", None)
