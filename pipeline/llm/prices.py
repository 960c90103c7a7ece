"""What tokens cost: data/prices.toml, dollars per million tokens."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import RecipeError
from pipeline.llm.settings import LlmSettings

MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """Tokens of one exchange."""

    prompt: int
    completion: int
    cached: int = 0  # part of `prompt` that the endpoint had seen before

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens.

    Where an endpoint charges more for writing its own prompt cache, that price is taken for all
    new prompt tokens: the cost shown is an upper bound, which is what a budget needs.
    """

    input: float
    output: float
    cached_input: float
    batch: float = 1.0  # factor of the Batch API

    def cost(self, usage: Usage, *, batch: bool = False) -> float:
        dollars = (
            (usage.prompt - usage.cached) * self.input
            + usage.cached * self.cached_input
            + usage.completion * self.output
        ) / MILLION
        return dollars * (self.batch if batch else 1.0)


def price_of(settings: LlmSettings, path: Path) -> Price | None:
    """The model's price; None if the file does not know it and no budget depends on it.

    Raises:
        RecipeError: a budget in dollars is set and the model has no price, or the file is damaged.
    """
    try:
        models = tomllib.loads(path.read_text(encoding="utf-8")).get("models", {})
        entry = models.get(settings.model)
        if entry is not None:
            return Price(
                input=float(entry.get("cache_write", entry["input"])),
                output=float(entry["output"]),
                cached_input=float(entry.get("cached_input", entry["input"])),
                batch=float(entry.get("batch", 1.0)),
            )
    except FileNotFoundError:
        pass
    except (KeyError, TypeError, ValueError) as error:
        raise RecipeError(f"{path}: not a list of prices: {error}") from None
    if settings.budget_dollars is not None:
        raise RecipeError(
            f"{path}: no price for model {settings.model!r}, so budget_dollars can't be kept; "
            "add it there, or set budget_requests instead"
        )
    return None
