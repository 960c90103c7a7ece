"""Rounds of suggesting and checking, for one problem."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stages.shapes.nearby import Nearby
from stages.shapes.suggestion import Problem, Rejection, Suggester, Suggestion
from stages.shapes.table import Setting
from stages.shapes.verify import Verified, Verifier

ENOUGH = 3  # settings, of these one odd and one held out: below, sizes near the author's are tried
AT_ONCE = (2, 3, 5, 5)  # candidates of one setting, by attempt: traced together
EFFORT = 1500  # operations that may be traced for them: a deep network has a thousand a time


def search(
    problem: Problem,
    suggester: Suggester,
    verifier: Verifier,
    rounds: int,
    nearby: Nearby | None = None,
) -> tuple[list[Verified], list[Rejection]]:
    """Verified shapes in the suggester's own order, and everything that was rejected."""
    found = Found(verifier)
    pending = suggester.suggest(problem, [])
    order = [suggestion.name for suggestion in pending]
    for _ in range(rounds):
        found.check(pending)
        if len(found.verified) == len(order):
            break
        amended = suggester.suggest(problem, found.rejections)
        pending = [suggestion for suggestion in amended if suggestion.name not in found.verified]
    found.check(_too_small(found), small=True)
    if nearby is not None:
        _fill(nearby, found)
    if not found.verified:
        as_written = Suggestion("as_written", dict(problem.sizes), "the sizes it came with")
        found.check([as_written], small=True)
    return sorted(found.verified.values(), key=lambda v: _place(v, order)), found.rejections


@dataclass
class Found:
    """What is known so far."""

    verifier: Verifier
    verified: dict[str, Verified] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)

    def check(self, suggestions: Sequence[Suggestion], *, small: bool = False) -> list[Rejection]:
        """Runs them; the rejections among them."""
        self.verifier.prepare(suggestions, small=small)
        rejected = []
        for suggestion in suggestions:
            believed = list(self.verified.values())
            answer = self.verifier.check(suggestion, believed, small=small)
            if isinstance(answer, Verified):
                self.verified[suggestion.name] = answer
            else:
                rejected.append(answer)
        self.rejections += rejected
        return rejected


def _too_small(found: Found) -> list[Suggestion]:
    """The last of each setting that was too small: the module may allow nothing larger."""
    last = {r.suggestion.name: r.suggestion for r in found.rejections if r.reason == "too_fast"}
    return [suggestion for name, suggestion in last.items() if name not in found.verified]


def _fill(nearby: Nearby, found: Found) -> None:
    """Sizes near the author's for the settings that are missing, until there are enough."""
    fast: list[Suggestion] = []
    a_trace = max(1, sum(nearby.problem.ops.values()))
    traces = EFFORT // a_trace
    for most in AT_ONCE:
        candidates = _candidates(nearby, found, most, traces)
        if not candidates:
            break
        traces -= len(candidates)
        chosen: dict[str, Suggestion] = {}
        for candidate, trouble in zip(
            candidates, found.verifier.foresee(candidates, small=False), strict=True
        ):
            if trouble is None:
                chosen.setdefault(candidate.name, candidate)
                continue
            found.rejections.append(trouble)
            nearby.learn(trouble)
            if trouble.reason == "too_fast":
                fast.append(candidate)
        for rejection in found.check(list(chosen.values())):
            nearby.learn(rejection)
    lacking = {setting.name for setting in _lacking(nearby, found)}
    for suggestion in fast:
        if suggestion.name in lacking and suggestion.name not in found.verified:
            found.check([suggestion], small=True)


def _candidates(nearby: Nearby, found: Found, most: int, traces: int) -> list[Suggestion]:
    """At most `most` for each setting that is missing, and at most `traces` in all."""
    taken = [one.suggestion.sizes for one in found.verified.values()]
    lacking = _lacking(nearby, found)
    each = min(most, traces // max(1, len(lacking)))
    return [one for setting in lacking for one in nearby.suggest(setting, taken, each)]


def _lacking(nearby: Nearby, found: Found) -> list[Setting]:
    """The needed settings that are missing, and others where there are still too few."""
    missing = [s for s in nearby.table.settings if s.name not in found.verified]
    needed = [setting for setting in missing if setting.odd or setting.held_out]
    few = ENOUGH - len(found.verified) - len(needed)
    return needed + [setting for setting in missing if setting not in needed][: max(0, few)]


def _place(verified: Verified, order: list[str]) -> int:
    name = verified.suggestion.name
    return order.index(name) if name in order else len(order)
