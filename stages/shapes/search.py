"""Rounds of suggesting and checking, for one problem."""

from stages.shapes.suggestion import Problem, Rejection, Suggester, Suggestion
from stages.shapes.verify import Verified, Verifier


def search(
    problem: Problem, suggester: Suggester, verifier: Verifier, rounds: int
) -> tuple[list[Verified], list[Rejection]]:
    """Verified shapes in the suggester's own order, and everything that was rejected."""
    verified: dict[str, Verified] = {}
    rejections: list[Rejection] = []
    pending = suggester.suggest(problem, [])
    order = [suggestion.name for suggestion in pending]
    for _ in range(rounds):
        verifier.prepare(pending)
        for suggestion in pending:
            _check(suggestion, verifier, verified, rejections, small=False)
        if len(verified) == len(order):
            break
        amended = suggester.suggest(problem, rejections)
        pending = [suggestion for suggestion in amended if suggestion.name not in verified]
    for suggestion in _too_small(rejections):
        if suggestion.name not in verified:
            _check(suggestion, verifier, verified, rejections, small=True)
    if not verified:
        as_written = Suggestion("as_written", dict(problem.sizes), "the sizes it came with")
        _check(as_written, verifier, verified, rejections, small=True)
    return sorted(verified.values(), key=lambda v: _place(v, order)), rejections


def _check(
    suggestion: Suggestion,
    verifier: Verifier,
    verified: dict[str, Verified],
    rejections: list[Rejection],
    *,
    small: bool,
) -> None:
    answer = verifier.check(suggestion, list(verified.values()), small=small)
    if isinstance(answer, Verified):
        verified[suggestion.name] = answer
    else:
        rejections.append(answer)


def _too_small(rejections: list[Rejection]) -> list[Suggestion]:
    """The last of each setting that was too small: the module may allow nothing larger."""
    last = {r.suggestion.name: r.suggestion for r in rejections if r.reason == "too_fast"}
    return list(last.values())


def _place(verified: Verified, order: list[str]) -> int:
    name = verified.suggestion.name
    return order.index(name) if name in order else len(order)
