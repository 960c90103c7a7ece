"""The reward that trainers of these sets use (arXiv 2602.11000).

    V = 0                                   if the kernel is wrong
    V = sigmoid(1 + max(0, speedup) - 1.8)  otherwise; speedup = t_baseline / t_kernel

A correct kernel that is endlessly slow gets 0.310, one as fast as the baseline 0.550, one twice as
fast 0.769: being right is worth more than being fast, and a wrong kernel is worth nothing.
"""

import math

VALIDATED = 1.0  # what a correct kernel starts from
OFFSET = 1.8  # the paper's: where the sigmoid is steepest, at a speedup of 0.8
FORMULA = "0 if wrong, else sigmoid(1 + max(0, t_baseline / t_kernel) - 1.8)"


def value(speedup: float, correct: bool) -> float:
    """V of a kernel, in [0, 1).

    Raises:
        ValueError: a correct kernel's speedup is not a number.
    """
    if not correct:
        return 0.0
    if math.isnan(speedup):
        raise ValueError("the speedup of a correct kernel is not a number")
    return 1.0 / (1.0 + math.exp(OFFSET - VALIDATED - max(0.0, speedup)))
