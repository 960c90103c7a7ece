"""What passes between the one who suggests sizes and the one who checks them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

DISTINCT = 1.1  # some axis must differ by at least this factor, or in parity


@dataclass(frozen=True)
class Problem:
    """What a suggester may know of a problem."""

    code: str
    sizes: Mapping[str, int]
    flops: int
    flops_matrix: int
    bytes_unfused: int
    working_set: int
    ops: Mapping[str, int]  # ATen operations of one forward at the author's sizes
    tolerance: tuple[float, float]  # atol and rtol of a right answer


@dataclass(frozen=True)
class Suggestion:
    """One setting: all sizes of the program, by name."""

    name: str  # train, infer, large, odd, held_out
    sizes: Mapping[str, int]
    reason: str
    held_out: bool = False
    by: str = ""  # who suggested it, where that is not the suggester of the whole row


@dataclass(frozen=True)
class Rejection:
    """Why a suggestion was not believed, told to the suggester for the next round."""

    suggestion: Suggestion
    reason: str  # see the table in README.md
    detail: str
    milliseconds: float | None = None  # by roofline, where it could be traced
    working_set: int | None = None


class Suggester(Protocol):
    """Proposes settings for a problem. Rules today; a language model fits the same seam."""

    name: str
    """Goes into `suggested_by`: rules-vN, or model and prompt version."""

    def suggest(self, problem: Problem, rejections: Sequence[Rejection]) -> list[Suggestion]:
        """All settings in the first round, then amended ones for those ever rejected.

        What is suggested again under the name of a setting that has been believed is ignored.

        Args:
            problem: what sizes are wanted for.
            rejections: of all rounds so far, in order; empty in the first round.
        """
        ...


def distinct(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Some axis differs by a factor, or is odd in one and even in the other."""
    for name, size in one.items():
        low, high = sorted((size, other[name]))
        if high >= DISTINCT * low or (size != other[name] and (size % 2 != other[name] % 2)):
            return True
    return False
