"""The language model as suggester: a batch of problems goes through asking and checking together.

    ask for all → check all → ask again for what was rejected, with the reasons → check → …

All problems of a batch are asked about at once, within the limits of the recipe, in the driver's
process; the checks, which cost the time, are spread over processes of their own. The model's word
counts for nothing: each setting is executed by the same verifier as the rules' settings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.llm import Answer, Miss, Question, ask
from pipeline.stage import Failed, Kept, Outcome, Row, Workplace
from stages.shapes.checks import Check, Checked, checking
from stages.shapes.ledger import write_down
from stages.shapes.outcome import could_not_tell, outcome_of, problem_of
from stages.shapes.prompt import NAMES, NEEDED, PROMPT_VERSION, Prompt, Proposal
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Problem, Rejection, Suggestion
from stages.shapes.table import Table
from stages.shapes.verify import CouldNotTell, Verified

LEAST_WANTED = 3  # with fewer the model is asked again, if it may
PASSING = frozenset(("budget", "rate_limited", "no_answer", "endpoint_down", "pending"))
"""Misses that say nothing about the question: the row waits for another run."""

AS_WRITTEN = "author"  # `suggested_by` of the sizes that the program came with


def shapes_by_llm(
    rows: Sequence[Row], settings: ShapesSettings, place: Workplace, table: Table
) -> list[Outcome]:
    """One outcome for each problem."""
    target = table.targets[settings.target]
    room = settings.max_working_set or target.most_working_set
    files = []
    for row in rows:
        problem = problem_of(row)
        files.append(_File(row, problem, Prompt(problem, table, target, room)))
    with checking(settings, place, len(rows)) as check:
        for round in range(1 + settings.repairs):
            _ask(files, round, settings, place)
            _check([file for file in files if file.pending], check, small=False)
            if all(file.settled for file in files):
                break
        for file in files:
            file.take_what_there_is()
        _check([file for file in files if file.pending], check, small=True)
    who = f"{settings.model} {PROMPT_VERSION}"
    for file in files:
        write_down(place, file.row["problem_id"], who, file.rejections)
    return [file.outcome(settings, who) for file in files]


@dataclass
class _File:
    """One problem on its way."""

    row: Row
    problem: Problem
    prompt: Prompt
    pending: list[Suggestion] = field(default_factory=list)
    verified: dict[str, Verified] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    failed: Failed | None = None
    miss: Miss | None = None  # why the model said no more

    @property
    def settled(self) -> bool:
        return self.failed is not None or self.miss is not None or not self.wanted(1)

    def wanted(self, round: int) -> list[str]:
        """The settings to ask for: all at first, then those that are missing or were rejected."""
        if round == 0:
            return list(NAMES)
        rejected = {rejection.suggestion.name for rejection in self.rejections}
        few = len(self.verified) < LEAST_WANTED
        return [
            name
            for name in NAMES
            if name not in self.verified and (name in rejected or name in NEEDED or few)
        ]

    def question(self, round: int) -> Question:
        """Raises SyntaxError and its like where the code is no Python."""
        wanted = self.wanted(round)
        last = {r.suggestion.name: r for r in self.rejections if r.suggestion.name in wanted}
        lacking = [name for name in wanted if name not in last] if round else []
        return self.prompt.question(list(last.values()), lacking, round)

    def hear(self, answer: Answer | Miss, round: int) -> None:
        """Takes the model's answer in."""
        if isinstance(answer, Miss):
            self.miss = answer
            if answer.reason in PASSING or not self.verified:
                self.failed = Failed(answer.reason, answer.detail)
            return
        assert isinstance(answer.value, Proposal)
        self.pending, malformed = self.prompt.suggestions(answer.value, self.wanted(round))
        self.rejections += malformed

    def learn(self, checked: Checked) -> None:
        """Takes the results of the checks in."""
        self.pending = []
        if isinstance(checked, CouldNotTell):
            self.failed = could_not_tell(checked)
            return
        for result in checked:
            if isinstance(result, Verified):
                self.verified[result.suggestion.name] = result
            else:
                self.rejections.append(result)

    def take_what_there_is(self) -> None:
        """At the end: what was too small will do, because the module may allow nothing larger."""
        last = {r.suggestion.name: r.suggestion for r in self.rejections if r.reason == "too_fast"}
        self.pending = [one for name, one in last.items() if name not in self.verified]
        if not self.verified:
            reason = "the sizes it came with"
            self.pending.append(Suggestion("as_written", dict(self.problem.sizes), reason))
        if self.failed is not None:
            self.pending = []

    def outcome(self, settings: ShapesSettings, who: str) -> Outcome:
        if self.failed is not None:
            return self.failed
        found = dict(self.verified)
        if len(found) > 1:
            found.pop("as_written", None)  # only where there is nothing else
        order = sorted(found.values(), key=lambda one: _place(one.suggestion.name))
        decided = outcome_of(order, self.rejections, settings, who)
        return _signed(decided) if isinstance(decided, Kept) else decided


def _ask(files: Sequence[_File], round: int, settings: ShapesSettings, place: Workplace) -> None:
    """One round of questions, all at once."""
    asked: list[_File] = []
    questions: list[Question] = []
    for file in files:
        if round and file.settled:
            continue
        try:
            questions.append(file.question(round))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
            file.failed = Failed("unreadable_code", f"{type(trouble).__name__}: {trouble}")
            continue
        asked.append(file)
    if questions:
        for file, answer in zip(asked, ask(questions, settings, place), strict=True):
            file.hear(answer, round)


def _check(files: Sequence[_File], check: Check, *, small: bool) -> None:
    jobs = [(file.row, file.pending, list(file.verified.values()), small) for file in files]
    for file, checked in zip(files, check(jobs), strict=True):
        file.learn(checked)


def _signed(kept: Kept) -> Kept:
    """The author's own sizes are not the model's idea."""
    shapes: list[Mapping[str, object]] = list(kept.columns["shapes"])
    return Kept(
        {
            "shapes": [
                {**shape, "suggested_by": AS_WRITTEN} if shape["name"] == "as_written" else shape
                for shape in shapes
            ]
        }
    )


def _place(name: str) -> int:
    return NAMES.index(name) if name in NAMES else len(NAMES)
