"""Recipes: malformed ones cost one clear line that names the file and the key."""

from pathlib import Path

import pytest

from pipeline.errors import RecipeError
from pipeline.paths import RECIPES
from pipeline.recipe import find_recipe, load_recipe
from stages import STAGES
from tests.pipeline import toy


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_that_ships_is_valid(path: Path) -> None:
    recipe = load_recipe(path, STAGES)
    assert recipe.name == path.stem
    assert recipe.description


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "not valid TOML"),
        ("sqare = 1", r"unknown key 'sqare'; did you mean 'square'\?"),
        ("[square]\nofset = 1", r"unknown key square.ofset; did you mean 'offset'\?"),
        ("[square]\noffset = 'much'", "square.offset: input should be a valid integer"),
        ("square = 3", r"\[square\] must be a table"),
        ("[engine]\nworkers = -1", "engine.workers: input should be greater than or equal to 0"),
        ("[engine]\nminimum_sandbox = 'none'", "engine.minimum_sandbox"),
    ],
)
def test_a_malformed_recipe_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as error:
        load_recipe(write(tmp_path, text), toy.STAGES)
    assert "mine.toml" in str(error.value)
    assert "\n" not in str(error.value).removeprefix(str(tmp_path))


def test_a_recipe_that_is_not_utf8_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(RecipeError, match="not valid TOML"):
        load_recipe(path, toy.STAGES)


def test_an_unknown_recipe_names_those_there_are() -> None:
    with pytest.raises(RecipeError, match=r"no recipe 'locl'; there are: .*local"):
        find_recipe("locl", RECIPES)
