"""A recipe: one TOML file that says everything a run does differently from the defaults.

The engine's own settings stand in `[engine]`; every stage has a table named after it, checked
against the settings that the stage declares.
"""

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import RecipeError
from pipeline.stage import Settings, Stage
from pipeline.targets import check_target

HEAD = ("name", "description")

T = TypeVar("T", bound=BaseModel)


class EngineSettings(BaseModel):
    """`[engine]`: how a run is carried out; none of it changes what comes out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workers: int | None = Field(None, ge=0, description="worker processes; 0 runs in-process")
    minimum_sandbox: Literal["process", "confined", "namespaced"] = Field(
        "process", description="below this level of isolation nothing is executed"
    )
    max_shrink: float = Field(
        0.2, ge=0, le=1, description="a release that lost more than this share is not published"
    )
    max_source_shrink: float = Field(
        0.5, ge=0, le=1, description="the same for one source's rows; a lost source always stops"
    )
    keep_releases: int = Field(14, ge=1, description="older releases are deleted, pinned ones stay")
    worker_memory: str = Field("auto", description="memory limit of a Dask worker")
    upload: tuple[Annotated[str, AfterValidator(check_target)], ...] = Field(
        (), description="where each release goes: s3://bucket/folder, hf://datasets/owner/name"
    )


@dataclass(frozen=True)
class Recipe:
    """A recipe that has been read and checked."""

    name: str
    description: str
    path: Path
    engine: EngineSettings
    stages: dict[str, Settings]

    def with_setting(self, stage: str, key: str, value: Any) -> "Recipe":
        """The recipe with one setting changed, checked like any other."""
        table = dict(self.stages[stage]) | {key: value}
        changed = _checked(self.path, stage, type(self.stages[stage]), table)
        return replace(self, stages=self.stages | {stage: changed})

    def plain(self) -> dict[str, Any]:
        """Everything that decides the result, defaults included; for the manifest."""
        return {
            "name": self.name,
            "stages": {name: table.model_dump(mode="json") for name, table in self.stages.items()},
        }


def load_recipe(path: Path, stages: Sequence[Stage]) -> Recipe:
    """Reads and checks a recipe.

    Raises:
        RecipeError: one line naming the file, the key and what is wrong with it.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such recipe; see data/recipes/") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid TOML: {error}") from None

    known = {stage.name: stage.settings for stage in stages}
    for key in raw:
        if key not in (*HEAD, "engine", *known):
            raise RecipeError(
                f"{path}: unknown key {key!r}{_nearest(key, [*HEAD, 'engine', *known])}"
            )
    return Recipe(
        name=str(raw.get("name", path.stem)),
        description=str(raw.get("description", "")),
        path=path,
        engine=_checked(path, "engine", EngineSettings, raw.get("engine", {})),
        stages={
            name: _checked(path, name, settings, raw.get(name, {}))
            for name, settings in known.items()
        },
    )


def find_recipe(name: str, folder: Path) -> Path:
    """A recipe by name (`local`) or by path (`my/recipe.toml`)."""
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return path
    path = folder / f"{name}.toml"
    if not path.exists():
        names = sorted(recipe.stem for recipe in folder.glob("*.toml"))
        raise RecipeError(f"no recipe {name!r}; there are: {', '.join(names)}")
    return path


def _checked(path: Path, table: str, settings: type[T], raw: Any) -> T:
    if not isinstance(raw, dict):
        raise RecipeError(f"{path}: [{table}] must be a table")
    try:
        return settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            hint = _nearest(key, list(settings.model_fields))
            raise RecipeError(f"{path}: unknown key {table}.{key}{hint}") from None
        raise RecipeError(f"{path}: {table}.{key}: {first['msg'].lower()}") from None


def _nearest(key: str, names: list[str]) -> str:
    close = difflib.get_close_matches(key, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(names)}"
