"""What a recipe may set about the endpoint.

Settings that only decide how and when requests are sent (limits, time-outs, budget, address) are
excluded from dumps, and so from a stage's address: changing them never asks a question again.
"""

from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from pipeline.recipe import Recipe
from pipeline.stage import Settings


def with_budget(recipe: Recipe, dollars: float | None, requests: int | None) -> Recipe:
    """The recipe with these limits in place of its own, for all stages together.

    A limit that is None stays what it was.

    Raises:
        RecipeError: a limit that is no number of dollars or requests.
    """
    given = {"budget_dollars": dollars, "budget_requests": requests}
    limits = {name: limit for name, limit in given.items() if limit is not None}
    if not limits:
        return recipe
    for stage, settings in recipe.stages.items():
        if isinstance(settings, LlmSettings):
            for name, value in {**limits, "budget_shared": True}.items():
                recipe = recipe.with_setting(stage, name, value)
    return recipe


class LlmSettings(Settings):
    """Base of the settings of a stage that asks a language model."""

    model: str = Field("", description="the model's name at the endpoint")
    base_url: str = Field(
        "https://api.openai.com/v1",
        exclude=True,
        description="an OpenAI-compatible endpoint; give a served model a name of its own, because "
        "the cache knows models by name",
    )
    api_key_env: str = Field(
        "OPENAI_API_KEY",
        exclude=True,
        description="environment variable that holds the key; not needed on a loopback address",
    )
    temperature: float | None = Field(
        None, ge=0, le=2, description="left out, the model's own; reasoning models accept no other"
    )
    reasoning_effort: str = Field("", description="sent if not empty, to reasoning models only")
    max_tokens: int = Field(
        2000, ge=16, description="at most this many tokens a reply, thinking included"
    )
    extra_body: dict[str, Any] = Field(
        default_factory=dict,
        description="further keys of the request, e.g. chat_template_kwargs for vLLM",
    )

    concurrency: int = Field(32, ge=1, le=1024, exclude=True, description="requests in flight")
    rpm: int = Field(0, ge=0, exclude=True, description="requests a minute; 0 is no limit")
    tpm: int = Field(0, ge=0, exclude=True, description="tokens a minute; 0 is no limit")
    timeout_s: float = Field(120, gt=0, exclude=True, description="for one request, in all")
    max_wait_s: float = Field(
        300, ge=0, exclude=True, description="a question waits at most this long between its tries"
    )
    budget_dollars: float | None = Field(
        None, ge=0, exclude=True, description="spend at most this much in any 24 hours"
    )
    budget_requests: int | None = Field(
        None, ge=0, exclude=True, description="send at most this many requests in any 24 hours"
    )
    budget_shared: bool = Field(
        False,
        exclude=True,
        description="what the store's other stages have spent counts too; with --budget it does",
    )
    batch_api: bool = Field(
        False,
        exclude=True,
        description="submit to the Batch API at half price; a later run collects the answers",
    )
    batch_wait_s: float = Field(
        0, ge=0, exclude=True, description="wait this long for a submitted batch before going on"
    )

    @field_validator("base_url")
    @classmethod
    def _no_secret_in_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("an address such as http://127.0.0.1:8000/v1 is expected")
        if parts.username or parts.password or parts.query:
            raise ValueError("no user, password or query belongs here; keys go to the environment")
        return value

    @model_validator(mode="after")
    def _key_is_named_not_given(self) -> Self:
        if not self.api_key_env.replace("_", "").isalnum() or self.api_key_env.startswith("sk-"):
            raise ValueError("api_key_env: the name of a variable is expected, never a key")
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """What decides a reply beside model and messages; part of the cache key."""
        return {
            "temperature": self.temperature,
            "reasoning_effort": self.reasoning_effort,
            "max_tokens": self.max_tokens,
            "extra_body": self.extra_body,
        }
