"""What a recipe may set for shapes."""

from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from pipeline.llm.settings import LlmSettings
from pipeline.sandbox import Limits


class ShapesSettings(LlmSettings):
    """Which device the shapes are for, and what a shape may cost to verify.

    Those of the endpoint come from `LlmSettings`; with the rules they decide nothing.
    """

    suggester: Literal["rules", "llm"] = Field(
        "rules", description="rules: from axis roles and real models' sizes, free; llm: a model"
    )
    repairs: int = Field(
        2, ge=0, le=2, description="how often the model may amend rejected settings"
    )

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

    @model_validator(mode="after")
    def _model_is_named(self) -> Self:
        if self.suggester == "llm" and not self.model:
            raise ValueError("suggester = 'llm' needs a model")
        return self

    @model_serializer(mode="wrap")
    def _what_decides(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The rules' address is what it was before there was a model: it decides nothing there."""
        dumped: dict[str, Any] = handler(self)
        if self.suggester == "llm":
            return dumped
        of_llm = {*LlmSettings.model_fields, "suggester", "repairs"}
        return {name: value for name, value in dumped.items() if name not in of_llm}

    def limits(self) -> Limits:
        return Limits(wall_s=self.wall_s, cpu_s=int(self.wall_s), memory_mb=self.memory_mb)
