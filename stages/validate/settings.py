"""What a recipe may set for validation."""

from pydantic import Field

from pipeline.sandbox import Limits
from pipeline.stage import Settings


class ValidateSettings(Settings):
    """Limits of one program's run, and which rejections only leave a flag."""

    wall_s: float = Field(60.0, gt=0, description="seconds by the clock; beyond: failed, retried")
    cpu_s: int = Field(30, gt=0, description="CPU seconds for the whole battery; beyond: removed")
    memory_mb: int = Field(6144, gt=0, description="memory of one program in MiB; beyond: removed")
    flag_only: tuple[str, ...] = Field(
        (), description="reasons of gates that are to be noted in `flags` instead of rejecting"
    )

    def limits(self) -> Limits:
        return Limits(wall_s=self.wall_s, cpu_s=self.cpu_s, memory_mb=self.memory_mb)
