"""Where real models' sizes don't fit a problem, sizes near its author's make up for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pipeline.source.program import apply_sizes, sizes_of
from pipeline.tracing.ask import trace
from stages.shapes.knobs import knobs_of
from stages.shapes.nearby import NAME, Nearby
from stages.shapes.outcome import problem_of, verifier_of
from stages.shapes.rules import Rules
from stages.shapes.search import search
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Rejection, distinct
from tests.stages.shapes.suggesting import row
from tests.stages.shapes.test_shapes import DATA, TABLE, shapes, sizes
from tests.stages.validate.programs import program

CPU = TABLE.targets["cpu"]
SETTINGS = {setting.name: setting for setting in TABLE.settings}


def with_inputs(forward: str, inputs: str, arguments: str, init: str = "", **at: int) -> str:
    """A program with these size constants instead of B and D."""
    top = "\n".join(f"{name} = {value}" for name, value in at.items())
    code = program(forward, init=init, inputs=inputs, arguments=arguments, top=top)
    return code.replace("B = 8\nD = 32\n", "")


DEAR = with_inputs(
    "return self.conv(x)", "[torch.randn(BATCH, 64, HEIGHT, WIDTH)]", "x",
    init="self.conv = nn.Conv2d(64, 128, 3)", BATCH=4, HEIGHT=32, WIDTH=48,
)  # fmt: skip
"""At the author's own lengths four samples are too much for a CPU's ten milliseconds."""

TIED = with_inputs(
    "return (x * w.unsqueeze(1)).cumsum(0)",
    "[torch.randn(BATCH, DIM), torch.randn(FEATURES)]", "x, w", BATCH=4, DIM=96, FEATURES=4,
)  # fmt: skip
"""FEATURES counts the samples, under a name that does not say so."""

FLAT = with_inputs(
    "return (x.flatten(1) - y).abs()",
    "[torch.randn(BATCH, CHANNELS, HEIGHT, HEIGHT), torch.randn(BATCH, SEQ_LEN)]", "x, y",
    BATCH=4, CHANNELS=24, HEIGHT=32, SEQ_LEN=24 * 32,
).replace("HEIGHT, HEIGHT)", "HEIGHT)")  # fmt: skip


def nearby(code: str) -> Nearby:
    return Nearby(problem_of(row(code)), TABLE, CPU, CPU.most_working_set)


def whole(found: Mapping[str, Any]) -> bool:
    return len(found) >= 3 and {"odd", "held_out"} <= set(found)


@pytest.mark.parametrize("code", [DEAR, TIED, FLAT], ids=["dear", "tied", "flattened"])
def test_a_problem_that_rejects_the_rules_gets_enough_settings(code: str) -> None:
    found = shapes(code, target="cpu", rounds=2)
    assert whole(found)
    assert NAME in {shape["suggested_by"] for shape in found.values()}
    at = [sizes(shape) for shape in found.values()]
    assert all(distinct(one, other) for one in at for other in at if one is not other)
    for shape in found.values():
        facts = trace(apply_sizes(code, sizes(shape)))
        assert isinstance(facts, dict)
        assert (facts["flops"], facts["working_set"]) == (shape["flops"], shape["working_set"])
        ms = CPU.milliseconds(facts["flops"], facts["flops_matrix"], facts["bytes_unfused"])
        assert ms <= CPU.most_ms
    changed = {n for n, value in sizes(found["odd"]).items() if value != sizes_of(code)[n]}
    assert any(sizes(found["odd"])[name] % 2 for name in changed)


def test_what_the_rules_have_found_stays_as_it_is() -> None:
    """Baselines that were measured at these shapes stay good."""
    settings = ShapesSettings(target="cpu", rounds=2)
    problem, rules = problem_of(row(DEAR)), Rules(TABLE, CPU)
    verifier = verifier_of(row(DEAR), settings, DATA, "process")
    without, _ = search(problem, rules, verifier, settings.rounds)
    more, _ = search(problem, rules, verifier, settings.rounds, nearby(DEAR))
    assert 0 < len(without) < len(more)
    assert [one for one in more if one.suggestion.by != NAME] == without


def test_samples_under_another_name_move_with_the_batch() -> None:
    assert knobs_of(problem_of(row(TIED)), TABLE).batch == ("BATCH", "FEATURES")
    [first, *_] = nearby(TIED).suggest(SETTINGS["odd"], [], 2)
    assert first.sizes["BATCH"] == first.sizes["FEATURES"] > 4


def test_a_flattened_image_stays_the_product_of_its_sides() -> None:
    assert knobs_of(problem_of(row(FLAT)), TABLE).products == (("SEQ_LEN", ("CHANNELS", "HEIGHT")),)
    for one in nearby(FLAT).suggest(SETTINGS["held_out"], [], 2):
        assert one.sizes["SEQ_LEN"] == one.sizes["CHANNELS"] * one.sizes["HEIGHT"]


def test_candidates_are_new_each_time_distinct_and_near_the_wish() -> None:
    source = nearby(DEAR)
    taken = [{"BATCH": 3, "HEIGHT": 32, "WIDTH": 48}]
    first = source.suggest(SETTINGS["odd"], taken, 5)
    second = source.suggest(SETTINGS["odd"], taken, 5)
    assert len(first) == 5 and second
    tried = [dict(one.sizes) for one in (*first, *second)]
    assert all(tried.count(one) == 1 for one in tried)
    assert all(distinct(one, taken[0]) for one in tried)
    for at in tried:
        assert any(value % 2 and value != sizes_of(DEAR)[n] for n, value in at.items())


def test_a_rejection_corrects_what_the_way_is_thought_to_cost() -> None:
    naive, taught = nearby(DEAR), nearby(DEAR)
    [first] = taught.suggest(SETTINGS["held_out"], [], 1)
    assert naive.suggest(SETTINGS["held_out"], [], 1) == [first]
    taught.learn(Rejection(first, "too_slow", "", milliseconds=1000.0, working_set=1))
    cheaper, dearer = (
        min(_volume(one.sizes) for one in source.suggest(SETTINGS["held_out"], [], 1))
        for source in (taught, naive)
    )
    assert cheaper < dearer


def _volume(at: Mapping[str, int]) -> int:
    return at["BATCH"] * at["HEIGHT"] * at["WIDTH"]


def test_nothing_is_smaller_than_the_window_and_the_author_would_have_it() -> None:
    """A tiny problem stays small where no batch reaches the window, but it grows from the author's."""
    least = CPU.least_ms / 4 / nearby(DEAR)._author_ms
    assert least < 1
    found = nearby(DEAR).suggest(SETTINGS["held_out"], [], 1000)
    assert min(_volume(one.sizes) for one in found) >= least * _volume(sizes_of(DEAR))
    tiny = replace(problem_of(row(TIED)), flops=1, bytes_unfused=1)
    grown = Nearby(tiny, TABLE, CPU, CPU.most_working_set).suggest(SETTINGS["held_out"], [], 1000)
    assert grown and all(one.sizes["BATCH"] >= 4 or one.sizes["DIM"] > 96 for one in grown)
