"""What a recipe may say about extraction."""

from pydantic import Field

from pipeline.stage import Settings


class ExtractSettings(Settings):
    """How much is spent on one class."""

    tries: int = Field(
        default=100, ge=1, le=10_000, description="attempts to find arguments and inputs"
    )
    cpu_s: int = Field(default=20, ge=1, description="CPU seconds for one class; beyond: removed")
    wall_s: float = Field(
        default=120.0, gt=0, description="seconds by the clock; beyond: failed, tried again"
    )
    memory_mb: int = Field(
        default=6144, ge=512, description="MiB of address space; beyond: removed"
    )
    allow_missing: bool = Field(
        default=True,
        description="a name that is defined nowhere may be None where only unreached branches read it",
    )
