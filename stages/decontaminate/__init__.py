"""decontaminate: nothing within reach of a held-out benchmark, with evidence for every row.

Five tiers, all evaluated and recorded for every row (reason codes, in the order in which they are
reported where several hold):

    same_canonical     same canonical form
    same_shape_blind   same shape-blind form: only names, sizes or style differ
    same_graph         same traced computation, whatever the text
    token_jaccard      exact token-set Jaccard above `jaccard` with some benchmark problem
    embedding          true L2 between unit vectors of the canonical code below `l2`

Flags, which remove nothing: `same_ops_problem` (a benchmark problem with the same set of ATen ops)
and `near_miss` (within `near_miss_band` of a threshold).

In every process that does this work, a fixed set of planted copies goes through the same code
first; a copy that is not caught stops the run (`control.py`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import schemas.problem
from pipeline.stage import MapStage
from stages.decontaminate.settings import DecontaminateSettings
from stages.decontaminate.work import decontaminate


def _identity(settings: Any, data: Path) -> Mapping[str, str]:
    from stages.decontaminate.fingerprints import identity

    return identity(settings, data)


STAGE = MapStage(
    name="decontaminate",
    doing="comparing with the held-out benchmark",
    version=2,  # 2: minilm's threshold is 0.32, calibrated on 507 ordinary programs instead of 179
    settings=DecontaminateSettings,
    gives=schemas.problem.DECONTAMINATED,
    reads=("problem_id", "code", "class_name", "graph_sha256", "ops"),
    work=decontaminate,
    identity=_identity,
)
