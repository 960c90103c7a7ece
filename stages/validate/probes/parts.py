"""Changes one thing inside the computation and looks whether the result moves."""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch

from pipeline.tracing import cost, ops
from pipeline.tracing.tape import Call, Tape, play
from stages.validate.probes import differ
from stages.validate.probes.runs import Subject

MOST = 64  # operations, and parameters, that are looked at; evenly spread above that
LEAST = 4
TRIALS = 3  # draws of noise before a value is said not to matter
CALLS = 8000  # operations played again, for a program of very many small ones
BUDGET = 1e9  # floating-point operations or bytes that may be spent on looking
CARELESS = ("multi_head_attention_forward", "GRU.forward", "LSTM.forward", "RNN.forward")
"""Functions of torch that compute what callers often drop: averaged weights, last states."""
CALM = 1e-6  # a relative movement below this is rounding: the change was absorbed

Seen = dict[str, Any]


def affordable(tape: Tape) -> int:
    """How many changes of a tape may be played: fewer for a program that costs much."""
    once = cost.flops(tape)[0] + cost.bytes_unfused(tape)
    plays = min(BUDGET / max(1, once), CALLS / max(1, len(tape.calls)))
    return max(LEAST, min(MOST, int(plays)))


def parameters(subject: Subject, tapes: list[Tape], most: int) -> Seen:
    """Parameters that no output depends on, and those whose change is lost in rounding.

    At most `most` of them are changed.
    """
    names = [name for name, _ in subject.model.named_parameters()]
    unread, still, absorbed = [], [], []
    for name in names:
        holding = [(tape, index) for tape in tapes if (index := _leaf(tape, name)) is not None]
        if not holding:
            unread.append(name)
    for name in _spread([name for name in names if name not in unread], most):
        effect = 0.0
        for tape in tapes:
            index = _leaf(tape, name)
            if index is not None and effect <= CALM:
                effect = max(effect, _effect(tape, [index]))
        if effect <= CALM:
            (absorbed if effect > 0 else still).append(name)
    return {
        "parameters_unread": unread,
        "parameters_still": still,
        "parameters_absorbed": absorbed,
        "identity_parameters": [
            name for name, value in subject.model.named_parameters() if _is_identity(value)
        ],
    }


def modules(subject: Subject, called: set[str], tapes: list[Tape]) -> Seen:
    """Submodules of which nothing is used: never called, and no parameter or buffer read."""
    read = {name for tape in tapes for name in tape.leaves.values() if _is_read(tape, name)}
    unused = []
    for path, module in subject.model.named_modules():
        if not path or any(path.startswith(f"{known}.") for known in unused):
            continue
        inside = [p for p in called if p == path or p.startswith(f"{path}.")]
        holds = [name for name in read if name.startswith(f"{path}.")]
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            continue  # often it only lends its probability to an attention: no work is lost
        if not inside and not holds and not _is_empty(module):
            unused.append(path)
    return {"unused_modules": unused}


def calls(tape: Tape, most: int) -> Seen:
    """Operations whose result does not matter, and those that could be left out.

    At most `most` of them are changed.
    """
    alive = tape.reached()
    looked = [p for p, call in enumerate(tape.calls) if ops.works(call.func)]
    dead = [p for p in looked if p not in alive]
    steering = tape.steering()
    absorbed, redundant = [], []
    for position in _spread([p for p in looked if p in alive - steering], most):
        call = tape.calls[position]
        effect = _effect(tape, call.writes)
        if effect == 0.0:
            dead.append(position)
        elif effect <= CALM:
            absorbed.append(position)
        elif (source := _stand_in(tape, call)) is not None:
            left_out = _played(tape, swap=(position, source))
            if left_out is not None and differ.apart(left_out, _outputs(tape)) <= CALM:
                redundant.append(position)
    # Whole numbers may have been read by `tolist`, which leaves no trace.
    floating = [call for p in sorted(dead) if _is_floating(tape, call := tape.calls[p])]
    return {
        "dead_ops": [c.name for c in floating if c.caller not in CARELESS],
        "dead_ops_of_torch": [c.name for c in floating if c.caller in CARELESS],
        "absorbed_ops": [tape.calls[p].name for p in absorbed],
        "redundant_ops": [tape.calls[p].name for p in redundant],
        "ops_looked_at": len(looked),
    }


def shaken(value: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """The value with something else in it, of the same kind and scale."""
    if value.dtype is torch.bool:
        return ~value
    if not value.is_floating_point():
        rolled = value.flatten().roll(1 + seed).reshape(value.shape)
        return value + 1 if torch.equal(rolled, value) else rolled
    finite = torch.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(value.shape, generator=generator, dtype=torch.float32).to(value.dtype)
    return finite + noise * max(differ.rms(finite), 1e-3)


def _effect(tape: Tape, indices: Iterable[int]) -> float:
    """How far the outputs move when these values are shaken; inf where they can't be computed.

    Where nothing moves, other noise is tried: a rank or a threshold may sleep through the first.
    """
    effect = 0.0
    for seed in range(TRIALS):
        played = _played(tape, change=dict.fromkeys(indices, partial(shaken, seed=seed)))
        effect = math.inf if played is None else differ.apart(played, _outputs(tape))
        if effect > CALM:
            break
    return effect


def _played(tape: Tape, **how: Any) -> list[torch.Tensor] | None:
    """The outputs, or None where a changed index or shape can't be computed with any more."""
    try:
        return play(tape, **how)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None


def _outputs(tape: Tape) -> list[torch.Tensor]:
    return [tape.values[index] for index in tape.outputs]


def _stand_in(tape: Tape, call: Call) -> int | None:
    """The argument that could stand for the result: same shape and type, of a pure call."""
    if not tape.pure or len(call.reads) == 0 or call.name in ops.COPIES:
        return None
    result = tape.values[call.writes[0]]
    first = tape.values[call.reads[0]]
    alike = result.shape == first.shape and result.dtype == first.dtype
    return call.reads[0] if alike else None


def _leaf(tape: Tape, name: str) -> int | None:
    for index, known in tape.leaves.items():
        if known == name and any(index in call.reads for call in tape.calls):
            return index
    return None


def _is_read(tape: Tape, name: str) -> bool:
    return bool(name) and _leaf(tape, name) is not None


def _is_empty(module: torch.nn.Module) -> bool:
    """Containers without content, and layers that do nothing by definition."""
    bare = not any(True for _ in module.children()) and not any(True for _ in module.parameters())
    return isinstance(module, torch.nn.Identity) or (
        bare and isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict | torch.nn.Sequential)
    )


def _is_identity(value: torch.Tensor) -> bool:
    return value.numel() > 1 and bool(torch.all(value == value.flatten()[0]))


def _is_floating(tape: Tape, call: Call) -> bool:
    return any(tape.values[index].is_floating_point() for index in call.writes)


def _spread(items: list[Any], most: int) -> list[Any]:
    """At most so many of the items, evenly spread, first and last included."""
    if len(items) <= most:
        return items
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]
