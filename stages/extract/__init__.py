"""Extract: each nn.Module class of a file becomes one self-contained program, or a reason."""

from collections.abc import Sequence

from pipeline.stage import MapStage, Outcome, Row, Workplace
from schemas.problem import EXTRACTED
from stages.extract.settings import ExtractSettings


def extract(
    rows: Sequence[Row], settings: ExtractSettings, workplace: Workplace
) -> list[list[Outcome]]:
    """Gives the outcomes of each file's classes."""
    from stages.extract.work import work  # the command line starts without it

    return work(rows, settings, workplace)


STAGE = MapStage(
    name="extract",
    doing="turning module classes into programs",
    version=6,  # 6: arrays of numpy, small pieces of other packages, operands as hints; 5: plain tensors in and out, ids over whole tables, more found; 4: cheaper guesses
    settings=ExtractSettings,
    gives=EXTRACTED,
    reads=(
        "file_id",
        "source_name",
        "source_kind",
        "origin",
        "version",
        "path",
        "licence",
        "licence_sha256",
        "source_sha256",
        "package_sha256",
        "text",
    ),
    work=extract,
    key="file_id",
    expands=True,
    batch=1,  # one file may hold thirty classes: larger batches leave a worker waiting at the end
)
