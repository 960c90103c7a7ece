"""What a recipe can set about decontamination."""

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.stage import Settings

Tier = Literal["same_canonical", "same_shape_blind", "same_graph", "token_jaccard", "embedding"]
TIERS: tuple[Tier, ...] = (
    "same_canonical",
    "same_shape_blind",
    "same_graph",
    "token_jaccard",
    "embedding",
)

CALIBRATED_L2 = {
    "jina-v3": 0.45,  # arXiv 2602.11000; cosine 0.89875
    "minilm": 0.32,
}
"""A threshold belongs to its embedder. That of minilm comes from `kernelset calibrate`: the largest
at which it takes at most 1 % of ordinary programs (4 of 507 from transformers, timm, kornia and others;
at 0.33 it takes 7, at 0.45 one in seven). With a change here goes the stage's version."""


class DecontaminateSettings(Settings):
    """Settings of the decontaminate stage."""

    benchmarks: tuple[str, ...] = Field(
        ("kernelbench",),
        min_length=1,
        description="names of fingerprint files in data/benchmarks/, without .parquet",
    )
    remove_by: tuple[Tier, ...] = Field(
        TIERS, description="tiers that remove; the others are evaluated and recorded only"
    )
    jaccard: float = Field(
        0.8, gt=0, lt=1, description="a row goes if its token-set Jaccard is above this"
    )
    l2: float | None = Field(
        None,
        ge=0,
        le=2,
        description="a row goes if its true L2 to a benchmark problem is below this; left out, "
        "the embedder's calibrated threshold (minilm, jina-v3)",
    )
    near_miss_band: float = Field(
        0.05, ge=0, le=1, description="a kept row this near to a threshold gets the near_miss flag"
    )
    embedder: str = Field(
        "minilm",
        description="minilm | jina-v3[:folder or hub id] | st:<folder or hub id> | openai:<model>",
    )
    revision: str = Field("", description="commit of the hub model, for jina-v3 and st")
    task: Literal[
        "retrieval.query", "retrieval.passage", "separation", "classification", "text-matching"
    ] = Field("text-matching", description="jina-v3's task adapter, the same on both sides")
    allow_remote_code: bool = Field(
        False, description="let the hub model bring its own Python code (st only)"
    )
    base_url: str = Field("", description="openai: the endpoint, e.g. http://127.0.0.1:8000/v1")

    @model_validator(mode="after")
    def _threshold_known(self) -> Self:
        if self.l2 is None and self.embedder.split(":")[0] not in CALIBRATED_L2:
            raise ValueError(
                f"l2: embedder {self.embedder!r} has no calibrated threshold; set one "
                "(kernelset calibrate measures it)"
            )
        return self

    @property
    def l2_threshold(self) -> float:
        """The true L2 distance below which a row goes."""
        return CALIBRATED_L2[self.embedder.split(":")[0]] if self.l2 is None else self.l2
