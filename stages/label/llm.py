"""The LLM judge: several independent votes on each problem, the majority decides."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.llm import Answer, Miss, Question, ask
from pipeline.stage import Failed, Kept, Outcome, Row, Workplace
from stages.label.prompt import LEVELS, PROMPT_VERSION, Verdict, question
from stages.label.settings import LabelSettings

LONGEST_RATIONALE = 300  # letters


def judge_by_llm(rows: Sequence[Row], settings: LabelSettings, place: Workplace) -> list[Outcome]:
    """One outcome per row."""
    asked = [_questions(row, settings.votes) for row in rows]
    answers = iter(ask([q for some in asked if not isinstance(some, Failed) for q in some],
                       settings, place))  # fmt: skip
    judge = f"{settings.model} {PROMPT_VERSION}"
    return [
        some if isinstance(some, Failed) else _outcome([next(answers) for _ in some], judge)
        for some in asked
    ]


def _questions(row: Mapping[str, Any], votes: int) -> list[Question] | Failed:
    try:
        return [question(row, sample) for sample in range(votes)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        return Failed("unreadable_code", f"{type(trouble).__name__}: {trouble}"[:300])


def _outcome(answers: Sequence[Answer | Miss], judge: str) -> Outcome:
    """The majority of the votes. A vote that is missing leaves us not knowing: it might decide."""
    verdicts = []
    for answer in answers:
        if isinstance(answer, Miss):
            return Failed(answer.reason, answer.detail)
        assert isinstance(answer.value, Verdict)
        verdicts.append(answer.value)
    levels = [verdict.level for verdict in verdicts]
    abstained = levels.count("abstain")
    if 2 * abstained >= len(levels):
        return Failed(
            "abstained", f"{abstained} of {len(levels)} votes: {verdicts[0].rationale}"[:300]
        )
    level = majority([level for level in levels if level != "abstain"])
    rationale = next(v.rationale for v in verdicts if v.level == level)
    return Kept(
        {
            "level": level,
            "judge": judge,
            "agreement": levels.count(level) / len(levels),
            "rationale": " ".join(rationale.split())[:LONGEST_RATIONALE],
        }
    )


def majority(levels: Sequence[str]) -> str:
    """The level with most votes; of several, the one nearest to the middle vote, then the lower."""
    counts = Counter(levels)
    most = max(counts.values())
    middle = sorted(map(LEVELS.index, levels))[(len(levels) - 1) // 2]
    tied = [level for level, count in counts.items() if count == most]
    return min(tied, key=lambda level: (abs(LEVELS.index(level) - middle), level))
