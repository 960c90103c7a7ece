"""No shape is believed before it was executed: traced at full size, run for real if that is cheap."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.sandbox import Fault
from pipeline.source.program import apply_sizes
from pipeline.tracing.ask import Kind, trace, trace_all
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Problem, Rejection, Suggestion, distinct
from stages.shapes.table import Target

LIMITS = {"memory_limit": "too_large", "cpu_limit": "too_slow", "too_many_ops": "too_slow"}
MOST_CALLS = 2000  # a call costs a third of a millisecond to trace; longer loops show nothing new
INDEXING = re.compile(r"aten\.(index|embedding|gather|scatter|take|put|masked_scatter|_embedding)")
TWIN = 64  # a data axis of a small twin is at most that long


@dataclass(frozen=True)
class Verified:
    """A shape that ran."""

    suggestion: Suggestion
    facts: Mapping[str, Any]
    milliseconds: float  # by roofline on the target


class CouldNotTell(Exception):
    """The sandbox gave no answer; the row is to be tried again."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


@dataclass(frozen=True)
class Verifier:
    """Checks suggestions for one problem against one target."""

    problem: Problem
    target: Target
    here: Target  # the device that real runs take place on
    settings: ShapesSettings
    minimum_sandbox: str
    batches: frozenset[str] = frozenset()  # sizes that count samples
    _traces: dict[tuple[str, Kind], dict[str, Any]] = field(default_factory=dict)

    def prepare(self, suggestions: Sequence[Suggestion], *, small: bool = False) -> None:
        """Traces and runs a round's suggestions in two children instead of two each.

        Only saves time: what is not answered here, because one of them broke the child, is asked
        again alone by `check`.
        """
        self._trace_all([self._code(suggestion.sizes) for suggestion in suggestions], "fake")
        self._trace_all(
            [
                self._code(self._real_sizes(suggestion, facts))
                for suggestion in suggestions
                if "flops" in (facts := self._known_facts(suggestion))
                and not self._too_much(suggestion, facts, self._milliseconds(facts), small)
            ],
            "run",
        )

    def foresee(self, suggestions: Sequence[Suggestion], *, small: bool) -> list[Rejection | None]:
        """What is known of each without running it: why it is rejected, or None.

        Raises:
            CouldNotTell: no answer from the sandbox.
        """
        self._trace_all([self._code(suggestion.sizes) for suggestion in suggestions], "fake")
        told = []
        for suggestion in suggestions:
            facts = self._traced(suggestion, "fake", suggestion.sizes)
            if not isinstance(facts, Rejection):
                ms = self._milliseconds(facts)
                told.append(self._too_much(suggestion, facts, ms, small))
            else:
                told.append(facts)
        return told

    def _known_facts(self, suggestion: Suggestion) -> Mapping[str, Any]:
        return self._traces.get((self._code(suggestion.sizes), "fake"), {})

    def _trace_all(self, codes: Sequence[str], kind: Kind) -> None:
        missing = [c for c in dict.fromkeys(codes) if (c, kind) not in self._traces]
        if len(missing) > 1:
            told = trace_all(missing, **self._how(kind))
            if not isinstance(told, Fault):
                self._traces.update(zip([(code, kind) for code in missing], told, strict=True))

    def _code(self, sizes: Mapping[str, int]) -> str:
        return apply_sizes(self.problem.code, sizes)

    def _milliseconds(self, facts: Mapping[str, Any]) -> float:
        return self.target.milliseconds(
            facts["flops"], facts["flops_matrix"], facts["bytes_unfused"]
        )

    def check(
        self, suggestion: Suggestion, accepted: Sequence[Verified], *, small: bool
    ) -> Verified | Rejection:
        """Runs a suggestion.

        Args:
            suggestion: what to check.
            accepted: shapes that were believed before, to be distinct from.
            small: whether a shape that is too small for the target will do.

        Raises:
            CouldNotTell: no answer from the sandbox.
        """
        if any(not distinct(suggestion.sizes, other.suggestion.sizes) for other in accepted):
            return Rejection(suggestion, "not_distinct", "too near a shape that is there already")
        facts = self._traced(suggestion, "fake", suggestion.sizes)
        if isinstance(facts, Rejection):
            return facts
        ms = self._milliseconds(facts)
        too_much = self._too_much(suggestion, facts, ms, small)
        if too_much is not None:
            return too_much
        real = self._traced(suggestion, "run", self._real_sizes(suggestion, facts))
        if isinstance(real, Rejection):
            return real
        if not real["finite"]:
            return Rejection(suggestion, "not_finite", "NaN or infinity at these sizes")
        if not real["tells_apart"]:
            detail = "the answer for other inputs passes for the right one"
            return Rejection(suggestion, "trivial", detail)
        return Verified(suggestion, facts, ms)

    def _too_much(
        self, suggestion: Suggestion, facts: Mapping[str, Any], ms: float, small: bool
    ) -> Rejection | None:
        room = self.settings.max_working_set or self.target.most_working_set
        held = facts["working_set"]
        if held > room:
            detail = f"{held} bytes alive at once, {room} allowed"
            return Rejection(suggestion, "too_large", detail, ms, held)
        if ms > self.target.most_ms:
            detail = f"{ms:.3g} ms by roofline, {self.target.most_ms:g} allowed"
            return Rejection(suggestion, "too_slow", detail, ms, held)
        # Below a millisecond a working set within the cache means that the cache is what is timed.
        cached = held < self.target.cache_bytes and ms < 1.0
        if not small and (ms < self.target.least_ms or cached):
            detail = f"{ms:.3g} ms by roofline, {held} bytes alive at once"
            return Rejection(suggestion, "too_fast", detail, ms, held)
        return None

    def _real_sizes(self, suggestion: Suggestion, facts: Mapping[str, Any]) -> Mapping[str, int]:
        """Full size where this machine can afford it, else a twin: data axes at most TWIN long."""
        cost = self.here.milliseconds(facts["flops"], facts["flops_matrix"], facts["bytes_unfused"])
        if cost <= self.settings.real_run_ms and facts["working_set"] < self.here.most_working_set:
            return suggestion.sizes
        base = self.problem.sizes
        # Whether an index lies within its table shows in numbers alone, and only at full length:
        # where there is indexing, the twin has fewer samples and is as long as the original.
        full = set(base) - self.batches if _indexes(facts) else set()
        return {
            name: size if size <= base[name] or name in full else _twin(size, base[name])
            for name, size in suggestion.sizes.items()
        }

    def _how(self, kind: Kind) -> dict[str, Any]:
        """The options of a trace."""
        return {
            "kind": kind,
            "most_calls": max(MOST_CALLS, 2 * sum(self.problem.ops.values())),
            "tolerance": self.problem.tolerance,
            "known": self._known() if kind == "fake" else None,
            "quick": self._quick() if kind == "fake" else None,
            "limits": self.settings.limits(),
            "minimum": self.minimum_sandbox,
        }

    def _quick(self) -> bool | None:
        """Whether meta tensors will do for this program, once an answer has said so."""
        answers = (told for (_, kind), told in self._traces.items() if kind == "fake")
        return next((told["quick"] for told in answers if "quick" in told), None)

    def _known(self) -> dict[str, Any]:
        """What `validate` has found out about the program at the author's sizes."""
        names = ("flops", "flops_matrix", "bytes_unfused", "working_set")
        facts = {name: getattr(self.problem, name) for name in names}
        return {"code": self.problem.code, "facts": {**facts, "ops": dict(self.problem.ops)}}

    def _traced(
        self, suggestion: Suggestion, kind: Kind, sizes: Mapping[str, int]
    ) -> dict[str, Any] | Rejection:
        code = self._code(sizes)
        told = self._traces.get((code, kind)) or trace(code, **self._how(kind))
        if isinstance(told, Fault):
            if told.reason in LIMITS:
                return Rejection(suggestion, LIMITS[told.reason], told.reason)
            raise CouldNotTell(told)
        self._traces[code, kind] = told
        if told.get("fault") == "needs_data" and kind == "fake":
            # Fakes can't tell: the real run at this size decides, within its limits.
            return self._traced(suggestion, "real", sizes)
        if "fault" in told:
            reason = LIMITS.get(told["fault"], "does_not_run")
            return Rejection(suggestion, reason, f"{told['fault']}: {told['detail']}")
        return told


def _indexes(facts: Mapping[str, Any]) -> bool:
    return any(INDEXING.match(op) for op, _ in facts["ops"])


def shape_id(sizes: Mapping[str, int]) -> str:
    """Identity of a shape within its problem: first 12 hex digits over the sorted sizes."""
    text = ",".join(f"{name}={size}" for name, size in sorted(sizes.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _twin(size: int, base: int) -> int:
    """A smaller size with the same parity and divisibility by the author's size, where it can."""
    if size % base == 0:
        multiple = size // base
        return base * min(multiple, 2 + multiple % 2)
    return min(size, TWIN - 1 + (size + 1) % 2) if size > TWIN else size
