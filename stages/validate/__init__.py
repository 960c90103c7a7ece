"""Validate: it runs, is finite and deterministic, depends on its inputs, has real work.

See README.md in this folder for the table of reasons.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.stage import MapStage
from pipeline.tracing.rules import GRAPH_RULES
from schemas.problem import VALIDATED
from stages.validate.settings import ValidateSettings
from stages.validate.work import validate


def _identity(settings: Any, data: Path) -> Mapping[str, str]:
    return {"graph_rules": str(GRAPH_RULES)}


STAGE = MapStage(
    name="validate",
    doing="running each program in the sandbox",
    version=3,  # 3: another hash seed, secrets
    settings=ValidateSettings,
    gives=VALIDATED,
    reads=("problem_id", "code", "class_name"),
    work=validate,
    identity=_identity,
    batch=8,
)
