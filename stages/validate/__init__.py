"""Validate: it runs, is finite and deterministic, depends on its inputs, has real work.

See README.md in this folder for the table of reasons.
"""

from pipeline.stage import MapStage
from schemas.problem import VALIDATED
from stages.validate.settings import ValidateSettings
from stages.validate.work import validate

STAGE = MapStage(
    name="validate",
    doing="running each program in the sandbox",
    version=3,  # 3: another hash seed, secrets, graph rules 3
    settings=ValidateSettings,
    gives=VALIDATED,
    reads=("problem_id", "code", "class_name"),
    work=validate,
    batch=8,
)
