"""label: difficulty L0 (trivial) to L5 (expert), by rules or by a language model.

The rubric that both follow is `rubric.md`; the rules' decision table is in README.md. What can't
be told (the judge abstains, its reply is cut off or invalid, the budget is used up) is failed and
tried again, never given the lowest level.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.stage import MapStage
from schemas.problem import LABELLED
from stages.label.settings import LabelSettings
from stages.label.work import label


def _identity(settings: Any, data: Path) -> Mapping[str, str]:
    from stages.label.work import identity

    return identity(settings)


STAGE = MapStage(
    name="label",
    doing="judging the difficulty",
    version=1,
    settings=LabelSettings,
    gives=LABELLED,
    reads=(
        "problem_id",
        "code",
        "ops",
        "parameters",
        "flops",
        "flops_matrix",
        "bytes_fused",
        "bytes_unfused",
        "outputs",
    ),
    work=label,
    batch=1024,  # requests in flight drain at the end of a batch; a small one would be all draining
    identity=_identity,
    workers=0,  # in the driver: limits, budget and Ctrl-C are kept in one place
)
