"""The flow: ten stages, in order. The command line hands this list to the engine."""

from pipeline.stage import Stage
from stages.crawl import STAGE as crawl
from stages.decontaminate import STAGE as decontaminate
from stages.dedupe import STAGE as dedupe
from stages.distinct import STAGE as distinct
from stages.emit import STAGE as emit
from stages.extract import STAGE as extract
from stages.label import STAGE as label
from stages.measure import STAGE as measure
from stages.shapes import STAGE as shapes
from stages.validate import STAGE as validate

STAGES: tuple[Stage, ...] = (
    crawl,  # which files, from where, under which licence
    extract,  # each nn.Module becomes one self-contained program
    dedupe,  # one of each
    validate,  # it runs, and it is worth running
    decontaminate,  # nothing within reach of the held-out benchmark
    distinct,  # no computation twice, whatever its text
    label,  # difficulty L0 … L5
    shapes,  # realistic input shapes, each executed
    measure,  # eager and TorchInductor on a named device
    emit,  # shards, ledger, card
)
