"""The work of the label stage: rows go to the judge that the recipe names."""

from collections.abc import Mapping, Sequence

from pipeline.stage import Outcome, Row, Workplace
from stages.label.settings import LabelSettings


def label(rows: Sequence[Row], settings: LabelSettings, place: Workplace) -> list[list[Outcome]]:
    """One outcome per row: kept with a level, or failed."""
    if settings.judge == "llm":
        from stages.label.llm import judge_by_llm

        return [[outcome] for outcome in judge_by_llm(rows, settings, place)]
    from stages.label.rules import judge_by_rules

    return [[judge_by_rules(row)] for row in rows]


def identity(settings: LabelSettings) -> Mapping[str, str]:
    """What decides a label beside the settings: the rules' version, or rubric and prompt."""
    if settings.judge == "llm":
        from stages.label.prompt import PROMPT_VERSION

        return {"prompt": PROMPT_VERSION}
    from stages.label.rules import JUDGE

    return {"rules": JUDGE}
