"""The LLM judge: several independent votes on each problem, the majority decides."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.llm import Answer, Miss, Question, ask
from pipeline.stage import Failed, Kept, Outcome, Row, Workplace
from stages.label.prompt import LEVELS, PROMPT_VERSION, Verdict, votes_on
from stages.label.settings import LabelSettings

LONGEST_RATIONALE = 300  # letters


def judge_by_llm(rows: Sequence[Row], settings: LabelSettings, place: Workplace) -> list[Outcome]:
    """One outcome per row."""
    unreadable: dict[int, Failed] = {}
    asked: list[int] = []  # for each question, its row

    def questions() -> Iterator[Question]:
        for number, row in enumerate(rows):
            try:
                votes = votes_on(row, settings.votes)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
                unreadable[number] = Failed(
                    "unreadable_code", f"{type(trouble).__name__}: {trouble}"
                )
                continue
            for vote in votes:
                asked.append(number)
                yield vote

    answers: dict[int, list[Answer | Miss]] = {}
    given = ask(questions(), settings, place)  # first: it is this that fills `asked`
    for number, answer in zip(asked, given, strict=True):
        answers.setdefault(number, []).append(answer)
    judge = f"{settings.model} {PROMPT_VERSION}"
    return [
        unreadable[number] if number in unreadable else _outcome(answers[number], judge)
        for number in range(len(rows))
    ]


def _outcome(answers: Sequence[Answer | Miss], judge: str) -> Outcome:
    """The majority of the votes. A vote that is missing leaves us not knowing: it might decide."""
    verdicts = []
    for answer in answers:
        if isinstance(answer, Miss):
            return Failed(answer.reason, answer.detail)
        assert isinstance(answer.value, Verdict)
        verdicts.append(answer.value)
    levels = [str(verdict.level) for verdict in verdicts]
    abstained = levels.count("abstain")
    if 2 * abstained >= len(levels):
        why = next(v.rationale for v in verdicts if v.level == "abstain")
        return Failed("abstained", f"{abstained} of {len(levels)} votes: {why}"[:LONGEST_RATIONALE])
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
