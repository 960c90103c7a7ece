"""From results to numbers. Runs in a process that never saw the crawled program."""

import math
from typing import Any

import torch

Seen = dict[str, Any]
ELEMENTS = 65536  # of each output are compared; evenly spread above that


def sample(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Few enough elements of each output to travel, always the same ones."""
    return [_thin(output) for output in outputs]


def judge(
    base: list[torch.Tensor],
    others: list[list[torch.Tensor]],
    exact: list[torch.Tensor] | None,
    coarse: list[torch.Tensor] | None,
    copies: list[torch.Tensor],
) -> Seen:
    """Scale, noise, signal and how near trivial answers come, worst or best over the outputs.

    Args:
        base: the result in float32.
        others: results for other inputs.
        exact: the result in float64.
        coarse: the result in bfloat16.
        copies: inputs of the same shape as the first output.
    """
    floats = [i for i, output in enumerate(base) if output.is_floating_point()]
    seen: Seen = {
        "not_finite": sum(int((~torch.isfinite(base[i])).sum()) for i in floats),
        "output_scale": _rms(base[floats[0]]) if floats else 0.0,
        "varying": _varying(base, others),
        "noise": None,
        "worst_error": None,
        "worst_error_bf16": None,
    }
    if exact is not None and floats:
        seen["noise"] = max(_noise_to_signal(i, base, others, exact) for i in floats)
        seen["worst_error"] = max(_worst_error(base[i], exact[i]) for i in floats)
        if coarse is not None:
            seen["worst_error_bf16"] = max(_worst_error(coarse[i], exact[i]) for i in floats)
    seen["trivial"] = [
        [name, _reach(answer, base)] for name, answer in _trivial(base, others, copies).items()
    ]
    return seen


def _varying(base: list[torch.Tensor], others: list[list[torch.Tensor]]) -> float:
    """Largest share of an output's elements that move with the inputs."""
    shares = []
    for i, output in enumerate(base):
        floor = 1e-6 * _rms(output) if output.is_floating_point() else 0.0
        for other in others:
            if other[i].shape != output.shape:
                shares.append(1.0)
                continue
            moved = (other[i].double() - output.double()).abs() > floor
            shares.append(float(moved.double().mean()))
    return max(shares, default=0.0)


def _noise_to_signal(
    i: int,
    base: list[torch.Tensor],
    others: list[list[torch.Tensor]],
    exact: list[torch.Tensor],
) -> float:
    """Rounding error over how much the result moves when the inputs are drawn again."""
    noise = _rms(base[i].double() - exact[i].double())
    alike = [o[i] for o in others if o[i].shape == base[i].shape]
    signal = max((_rms(o.double() - base[i].double()) for o in alike), default=_rms(base[i]))
    if noise == 0.0:
        return 0.0
    return noise / signal if signal > 0 else math.inf


def _worst_error(rough: torch.Tensor, exact: torch.Tensor) -> float:
    scale = _rms(exact)
    if rough.shape != exact.shape or scale == 0.0:
        return math.inf
    worst = float((rough.double() - exact.double()).abs().max())
    return worst / scale if math.isfinite(worst) else math.inf


def _trivial(
    base: list[torch.Tensor], others: list[list[torch.Tensor]], copies: list[torch.Tensor]
) -> dict[str, list[torch.Tensor]]:
    """Answers that compute nothing."""
    answers = {
        "zeros": [torch.zeros_like(o) for o in base],
        "ones": [torch.ones_like(o) for o in base],
        "mean": [torch.full_like(o.double(), float(o.double().mean())) for o in base],
    }
    if len(base) == 1 and base[0].numel() == 1:
        del answers["mean"]  # of one number the mean is the answer itself
    if others and [o.shape for o in others[0]] == [o.shape for o in base]:
        answers["output_for_another_input"] = others[0]
    if len(base) == 1:
        answers |= {f"copy_of_an_input.{k}": [copy] for k, copy in enumerate(copies)}
    return answers


def _reach(answer: list[torch.Tensor], base: list[torch.Tensor]) -> float:
    """The smallest relative tolerance at which 99.9 % of each output would be accepted.

    Accepted: |answer - y| <= rtol * (rms(y) + |y|).
    """
    needed = []
    for given, right in zip(answer, base, strict=True):
        away = (given.double() - right.double()).abs()
        if not right.is_floating_point():
            needed.append(0.0 if float((away > 0).double().mean()) <= 1e-3 else math.inf)
            continue
        room = _rms(right) + right.double().abs()
        ratio = torch.where(away == 0, 0.0, away / room).flatten()
        needed.append(float(ratio.sort().values[math.ceil(0.999 * (ratio.numel() - 1))]))
    return max(needed)


def _rms(value: torch.Tensor) -> float:
    return float(value.double().square().mean().sqrt())


def _thin(output: torch.Tensor) -> torch.Tensor:
    flat = output.detach().reshape(-1)
    if flat.numel() <= ELEMENTS:
        return flat
    return flat[torch.linspace(0, flat.numel() - 1, ELEMENTS, dtype=torch.float64).long()]
