"""The price list: every entry says when and where it was read."""

import tomllib
from datetime import date

from pipeline.llm.prices import price_of
from pipeline.paths import DATA
from tests.pipeline.llm.asking import settings_for

PRICES = DATA / "prices.toml"


def test_every_price_has_a_date_and_a_source_and_makes_sense() -> None:
    models = tomllib.loads(PRICES.read_text())["models"]
    assert models
    for name, entry in models.items():
        assert isinstance(entry["checked"], date), name
        assert entry["source"].startswith("https://"), name
        price = price_of(settings_for("http://127.0.0.1:1/v1", model=name), PRICES)
        assert price is not None
        assert 0 <= price.cached_input <= price.input <= price.output, name
        assert 0 < price.batch <= 1, name


def test_writing_the_endpoint_s_cache_is_counted_at_its_higher_price() -> None:
    entry = tomllib.loads(PRICES.read_text())["models"]["gpt-6-luna"]
    price = price_of(settings_for("http://127.0.0.1:1/v1", model="gpt-6-luna"), PRICES)
    assert price is not None
    assert price.input == entry["cache_write"] > entry["input"]
