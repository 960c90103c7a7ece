"""What a recipe can set about deduplication."""

from pydantic import Field

from pipeline.stage import Settings


class DedupeSettings(Settings):
    """Settings of the dedupe stage."""

    jaccard: float = Field(
        0.8,
        gt=0,
        le=1,
        description="a row goes if its token-set Jaccard with a kept row is above this; "
        "1.0 means equal token sets",
    )
    candidate_threshold: float = Field(
        0.5,
        gt=0,
        le=0.6,
        description="MinHash proposes pairs at this similarity. At 0.8 it would miss more than "
        "half of the pairs with Jaccard 0.8; at 0.5 it misses one in 20,000",
    )
    max_share_of_source: float = Field(
        0.9,
        gt=0,
        le=1,
        description="the run stops if near copies take more than this share of one source",
    )
    guard_from_rows: int = Field(
        200, ge=1, description="sources with fewer distinct rows are not held to that share"
    )
