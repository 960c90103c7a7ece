"""What a recipe can set about computations that are in the set twice."""

from pydantic import Field

from pipeline.stage import Settings


class DistinctSettings(Settings):
    """Settings of the distinct stage."""

    remove: bool = Field(
        True, description="false: every text stays, also of one and the same computation"
    )
    max_share_of_source: float = Field(
        0.9, gt=0, le=1, description="the run stops if more than this share of one source goes"
    )
    guard_from_rows: int = Field(
        200, ge=1, description="sources with fewer rows are not held to that share"
    )
