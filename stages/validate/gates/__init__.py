"""All gates, in the order in which they are asked: the first rejection decides."""

from collections.abc import Iterator

from stages.validate.gates import behaviour, dependence, tolerance, work
from stages.validate.gates.private import check_private
from stages.validate.gates.source import check_source
from stages.validate.gates.verdict import Flag, Gate, Reject, Seen, Verdict

GATES: tuple[Gate, ...] = (
    # Nothing else means anything unless it is a function, and one that computes.
    *behaviour.FUNCTION,
    *work.WORTH,
    *behaviour.SIDE_EFFECTS,
    # From the outside in: a constant output makes every part of the program look dead.
    *dependence.OUTPUT,
    *work.PARTS,
    *dependence.PARTS,
    *tolerance.GATES,
)

__all__ = ["GATES", "Flag", "Gate", "Reject", "Seen", "Verdict", "check_text", "verdicts"]


def verdicts(seen: Seen) -> list[Verdict]:
    """What all gates say, in order."""
    return [verdict for gate in GATES for verdict in gate.check(seen)]


def check_text(code: str) -> Iterator[Verdict]:
    """What can be said before anything is executed, in order."""
    yield from check_source(code)
    yield from check_private(code)
