"""What a language model is asked about sizes, and the form of its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.identity import digest
from pipeline.llm.question import Message, Question
from pipeline.llm.view import VIEW_VERSION, marked, view_of
from stages.shapes.errors import WORDS_VERSION, plain_error
from stages.shapes.roles import must_stay
from stages.shapes.suggestion import Problem, Rejection, Suggestion
from stages.shapes.table import Table, Target

TASK = Path(__file__).with_name("task.md").read_text(encoding="utf-8")
NAMES = ("train", "infer", "large", "odd", "held_out")
NEEDED = ("odd", "held_out")
MOST = 2**40  # a size beyond this is no size


class Size(BaseModel):
    """One constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    value: int


class Setting(BaseModel):
    """A named wish with its reason, which comes before the numbers so that they follow from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["train", "infer", "large", "odd", "held_out"]
    reason: str = Field(description="why these sizes are typical, at most 20 words")
    sizes: list[Size]


class Proposal(BaseModel):
    """The model's answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settings: list[Setting]


_TEXTS = [TASK, VIEW_VERSION, WORDS_VERSION, Proposal.model_json_schema()]
PROMPT_VERSION = "s1-" + digest(_TEXTS)[:8]
"""In every shape's `suggested_by`: the digest changes with any word of the task."""

LONGEST_REASON = 200  # letters


@dataclass(frozen=True)
class Prompt:
    """The questions about one problem."""

    problem: Problem
    table: Table
    target: Target
    room: int  # bytes that may be alive at once

    def question(
        self, rejections: Sequence[Rejection], lacking: Sequence[str], round: int
    ) -> Question:
        """What to ask.

        Args:
            rejections: the last one of each setting that is not verified.
            lacking: settings that are needed and were never proposed.
            round: 0 asks for all; later ones for the settings above alone.

        Raises:
            SyntaxError: the code is not Python.
        """
        shown = view_of(self.problem.code)
        parts = [self._constants(shown.names), self._facts(), self._limits(), marked(shown.text)]
        if round:
            parts.append(self._rejected(rejections, lacking, shown.names))
        text = "\n\n".join(parts)
        messages = (Message("system", TASK), Message("user", text))
        return Question(messages, Proposal, PROMPT_VERSION, sample=round)

    def suggestions(
        self, proposal: Proposal, wanted: Sequence[str]
    ) -> tuple[list[Suggestion], list[Rejection]]:
        """The settings that can be tried, and those that can't even be."""
        names = {new: old for old, new in view_of(self.problem.code).names.items()}
        stays = {name for name in self.problem.sizes if must_stay(name, self.table)}
        good: dict[str, Suggestion] = {}
        bad: list[Rejection] = []
        for setting in proposal.settings:
            if setting.name not in wanted:
                continue
            given = [(names.get(size.name, size.name), size.value) for size in setting.sizes]
            reason = " ".join(setting.reason.split())[:LONGEST_REASON]
            suggestion = Suggestion(
                setting.name, dict(given), reason, held_out=setting.name == "held_out"
            )
            trouble = _trouble(suggestion, len(given), self.problem.sizes, stays)
            if setting.name in good:
                trouble = "proposed twice; only the first counts"
            if trouble:
                bad.append(Rejection(suggestion, "malformed", trouble))
            else:
                in_order = {name: suggestion.sizes[name] for name in self.problem.sizes}
                good[setting.name] = replace(suggestion, sizes=in_order)
        order = sorted(good.values(), key=lambda one: NAMES.index(one.name))
        return order, bad

    def _constants(self, names: Mapping[str, str]) -> str:
        lines = []
        for name, value in self.problem.sizes.items():
            mark = ", stays" if must_stay(name, self.table) else ""
            lines.append(f"- {names.get(name, name)} = {value}{mark}")
        return "Size constants, with the author's values:\n" + "\n".join(lines)

    def _facts(self) -> str:
        problem, target = self.problem, self.target
        ms = target.milliseconds(problem.flops, problem.flops_matrix, problem.bytes_unfused)
        return (
            "Traced facts of one forward at the author's values:\n"
            f"- floating-point operations: {problem.flops:,}, of these in products: "
            f"{problem.flops_matrix:,}\n"
            f"- bytes moved operation by operation: {problem.bytes_unfused:,}; most alive at once: "
            f"{problem.working_set:,}\n"
            f"- time by roofline on the target: {ms:.3g} ms"
        )

    def _limits(self) -> str:
        target = self.target
        return (
            "The target device:\n"
            f"- time window: {target.least_ms:g} to {target.most_ms:g} ms by roofline\n"
            f"- most bytes alive at once: {self.room:,}; cache: {target.cache_bytes:,}\n"
            f"- per second: {target.matrix_flops_per_s:.2g} operations in products, "
            f"{target.other_flops_per_s:.2g} others, {target.bytes_per_s:.2g} bytes"
        )

    def _rejected(
        self, rejections: Sequence[Rejection], lacking: Sequence[str], names: Mapping[str, str]
    ) -> str:
        lines = []
        for one in rejections:
            sizes = ", ".join(
                f"{names.get(n, n)} = {v}"
                for n, v in one.suggestion.sizes.items()
                if n in self.problem.sizes
            )
            lines.append(
                f"- {one.suggestion.name} ({sizes}): {one.reason}: {plain_error(one.detail)}"
            )
        lines += [f"- {name}: was not proposed, and is needed" for name in lacking]
        return "Rejected; amend these, and no others:\n" + "\n".join(lines)


def _trouble(suggestion: Suggestion, given: int, sizes: Mapping[str, int], stays: set[str]) -> str:
    """Why a setting can't be tried; empty if it can."""
    missing = [name for name in sizes if name not in suggestion.sizes]
    if missing:
        return f"no value for {len(missing)} of the constants"
    if given != len(sizes):
        return "constants that the program does not have, or one twice"
    if any(not 1 <= value <= MOST for value in suggestion.sizes.values()):
        return "a value below 1, or far too large"
    moved = [name for name in stays if suggestion.sizes[name] != sizes[name]]
    if moved:
        return f"{len(moved)} constants were changed that must stay"
    free = [value for name, value in suggestion.sizes.items() if name not in stays]
    if suggestion.name == "odd" and not any(value % 2 for value in free if value > 1):
        return "no size is odd"
    return ""
