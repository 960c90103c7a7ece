"""The work of the shapes stage: problems go to the suggester that the recipe names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.source.canonical import digest
from pipeline.stage import Outcome, Row, Workplace
from stages.shapes.ledger import write_down
from stages.shapes.nearby import Nearby
from stages.shapes.outcome import TABLE, could_not_tell, outcome_of, problem_of, verifier_of
from stages.shapes.rules import Rules
from stages.shapes.search import search
from stages.shapes.settings import ShapesSettings
from stages.shapes.table import read_table
from stages.shapes.verify import CouldNotTell

ROWS_IN_DRIVER = 256
"""Rows that a model is asked about at once. Their checks are lost if the run is killed meanwhile (the
replies are not), so no more than a few minutes' worth."""


def suggest_shapes(
    batch: Sequence[Row], settings: ShapesSettings, place: Workplace
) -> list[list[Outcome]]:
    """One outcome for each problem: its verified shapes, or removal where none was verified."""
    table = read_table(place.data / TABLE)
    if settings.suggester == "llm":
        from stages.shapes.llm import shapes_by_llm

        return [[outcome] for outcome in shapes_by_llm(batch, settings, place, table)]
    rules = Rules(table, table.targets[settings.target])
    return [[_by_rules(row, rules, settings, place)] for row in batch]


def identity(settings: ShapesSettings, data: Path) -> Mapping[str, str]:
    """The table decides as much as the code does, and so does every word that a model is told."""
    decides = {"sizes.toml": digest((data / TABLE).read_text())}
    if settings.suggester == "llm":
        from stages.shapes.prompt import PROMPT_VERSION

        decides["prompt"] = PROMPT_VERSION
    return decides


def in_driver(settings: ShapesSettings) -> int:
    """A model is asked from the driver, about many rows at once; rules run in the workers."""
    return ROWS_IN_DRIVER if settings.suggester == "llm" else 0


def _by_rules(row: Row, rules: Rules, settings: ShapesSettings, place: Workplace) -> Outcome:
    """One problem: suggest, check, tell why not, suggest again."""
    verifier = verifier_of(row, settings, place.data, place.minimum_sandbox)
    problem = problem_of(row)
    room = settings.max_working_set or rules.target.most_working_set
    nearby = Nearby(problem, rules.table, rules.target, room)
    try:
        verified, rejections = search(problem, rules, verifier, settings.rounds, nearby)
    except CouldNotTell as error:
        return could_not_tell(error)
    write_down(place, row["problem_id"], rules.name, rejections)
    return outcome_of(verified, rejections, settings, rules.name)
