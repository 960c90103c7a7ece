"""Runs a finished program as its users will: equal inputs twice, then other inputs."""

import re
import sys
import time
import types
from typing import Any

import torch

from pipeline.tracing.program import sow

from .attempt import Tape, flatten


def verify(code: str, has_float: bool) -> dict[str, Any]:
    """Says whether the program repeats, is finite and listens to its inputs."""
    module = types.ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(code, "<program>", "exec"), module.__dict__)
        sow(0)
        model = module.__dict__["Model"](*module.__dict__["get_init_inputs"]())
        sow(1)
        started = time.process_time()
        with torch.no_grad():
            first = _output(module, model, 1, 11)
            seconds = time.process_time() - started
            again = _output(module, model, 1, 12)
            other = _output(module, model, 2, 13)
    except Exception as error:  # noqa: BLE001  crawled code may raise anything
        return {"verdict": "verify_failed", "detail": f"{type(error).__name__}: {error}"[:300]}
    size = sum(parameter.numel() for parameter in model.parameters())
    facts = {"seconds": seconds, "parameters": size}
    if not first:
        return {"verdict": "no_tensor_output", "detail": "", **facts}
    if not all(bool(torch.isfinite(one).all()) for one in first if one.is_floating_point()):
        return {"verdict": "not_finite", "detail": "", **facts}
    if not _equal(first, again):
        return {"verdict": "nondeterministic", "detail": "two runs on equal inputs differ", **facts}
    if has_float and _equal(first, other):
        return {
            "verdict": "constant_output",
            "detail": "other inputs give the same output",
            **facts,
        }
    return {"verdict": "ok", "detail": "", **facts}


def runs_at(code: str, name: str, value: int) -> bool:
    """Whether a program still runs, finite, with another value of one of its size constants."""
    changed = re.sub(rf"^{name} = \d+$", f"{name} = {value}", code, count=1, flags=re.MULTILINE)
    module = types.ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(changed, "<program>", "exec"), module.__dict__)
        sow(0)
        with torch.no_grad(), Tape():
            model = module.__dict__["Model"](*module.__dict__["get_init_inputs"]())
            found = flatten(model(*module.__dict__["get_inputs"]()))
    except Exception:  # noqa: BLE001  crawled code may raise anything
        return False
    return bool(found) and all(bool(torch.isfinite(one).all()) for one in found)


def _output(module: types.ModuleType, model: Any, seed: int, own: int) -> list[torch.Tensor]:
    sow(seed)
    inputs = module.__dict__["get_inputs"]()
    sow(own)  # the model's own randomness must not repeat
    return [one.clone() for one in flatten(model(*inputs))]


def _equal(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(a.shape == b.shape and torch.equal(a, b) for a, b in pairs)
