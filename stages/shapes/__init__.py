"""Shapes: three to five realistic input shapes a problem, each executed before it is believed.

See README.md in this folder for the rules and the reasons of rejection.
"""

from pipeline.stage import MapStage
from schemas.problem import SHAPED
from stages.shapes.settings import ShapesSettings
from stages.shapes.work import identity, in_driver, suggest_shapes

STAGE = MapStage(
    name="shapes",
    doing="finding and running realistic shapes",
    version=4,  # 4: sizes near the author's where the rules find too few
    settings=ShapesSettings,
    gives=SHAPED,
    reads=(
        "problem_id",
        "code",
        "sizes",
        "ops",
        "flops",
        "flops_matrix",
        "bytes_unfused",
        "working_set",
        "atol",
        "rtol",
    ),
    work=suggest_shapes,
    batch=8,
    identity=identity,
    in_driver=in_driver,
)
