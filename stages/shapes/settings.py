"""What a recipe may set for shapes."""

from typing import Literal

from pydantic import Field

from pipeline.sandbox import Limits
from pipeline.stage import Settings


class ShapesSettings(Settings):
    """Which device the shapes are for, and what a shape may cost to verify."""

    target: Literal["cpu", "h200"] = Field(
        "cpu", description="device to be timed on: sets the time window; see data/shapes/sizes.toml"
    )
    max_working_set: int = Field(
        0, ge=0, description="most bytes alive at once; 0 takes the target's own limit"
    )
    least: int = Field(1, ge=1, le=5, description="fewer verified shapes than this: removed")
    rounds: int = Field(
        6, ge=1, description="how often rejected settings may be suggested again, amended"
    )
    real_run_ms: float = Field(
        60.0,
        description="a shape is run for real at full size if one core needs at most this, by "
        "roofline; else a small twin of it is run",
    )
    wall_s: float = Field(60.0, gt=0, description="seconds by the clock; beyond: failed, retried")
    memory_mb: int = Field(6144, gt=0, description="memory of a verification run in MiB")

    def limits(self) -> Limits:
        return Limits(wall_s=self.wall_s, cpu_s=int(self.wall_s), memory_mb=self.memory_mb)
