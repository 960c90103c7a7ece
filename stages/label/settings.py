"""What a recipe can set about the difficulty judge."""

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.llm.settings import LlmSettings


class LabelSettings(LlmSettings):
    """Settings of the label stage; those of the endpoint come from `LlmSettings`."""

    judge: Literal["rules", "llm"] = Field(
        "rules", description="rules: from traced facts, free; llm: a language model"
    )
    votes: int = Field(
        3, ge=1, le=15, description="independent answers a problem; the majority decides"
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.judge == "llm" and not self.model:
            raise ValueError("judge = 'llm' needs a model")
        if self.judge == "llm" and self.votes > 1 and self.temperature == 0:
            raise ValueError("at temperature 0 all votes are one; set votes = 1 or a temperature")
        return self
