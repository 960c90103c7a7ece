"""measure: eager and TorchInductor times on a named device, as far as they can be trusted."""

from pipeline.stage import MapStage
from schemas.problem import MEASURED
from stages.measure.cost import forecast
from stages.measure.settings import MeasureSettings
from stages.measure.stage import identity, measure, resource

STAGE = MapStage(
    name="measure",
    doing="Timing",
    version=2,  # 2: a problem with a noisy CPU time stays, without a median
    settings=MeasureSettings,
    gives=MEASURED,
    reads=("problem_id", "code", "ops", "shapes", "atol", "rtol"),
    work=measure,
    identity=identity,
    workers=1,  # two timings on one machine disturb each other
    resource=resource,
    forecast=forecast,
    batch=8,
)
