"""The rule judge: a documented table, calibrated on hand labels, measured on a held-out half."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.label import FACTS, LABELLED, LEVELS, held_out, labels, read_problems, shares
from pipeline.source.canonical import problem_id
from pipeline.stage import Failed, Kept, Workplace
from stages.label import STAGE
from stages.label.facts import base_name, facts_of, kind_of
from stages.label.rules import JUDGE, TABLE, judge_by_rules
from stages.label.settings import LabelSettings
from tests.stages.label.rows import row

README = Path("stages/label/README.md")


def level_of(ops: dict[str, int], **fields: object) -> str:
    outcome = judge_by_rules(row(ops=ops, **fields))
    assert isinstance(outcome, Kept)
    return str(outcome.columns["level"])


def test_rules_agree_with_hand_labels_that_they_were_not_made_from() -> None:
    problems = [p for p in read_problems() if held_out(p["name"])]
    exact, near = shares(problems)
    assert len(problems) >= 75
    assert exact >= 0.70
    assert near >= 0.95


def test_at_least_150_problems_are_labelled_by_hand_each_with_a_reason() -> None:
    found = list(labels())
    assert len(found) >= 150
    assert len({p["name"] for p in found}) == len(found)
    assert all(p["level"] in LEVELS and len(p["reason"]) > 10 for p in found)
    assert set(Counter(p["level"] for p in found)) == set(LEVELS)


def test_the_stored_facts_are_those_of_the_labelled_programs() -> None:
    """Run `python -m benchmarks.label --trace` after changing a labelled program."""
    stored = {fact["name"]: fact for fact in map(json.loads, FACTS.read_text().splitlines())}
    for path in LABELLED.rglob("*.py"):
        name = f"labelled/{path.relative_to(LABELLED).as_posix()}"
        assert stored[name]["problem_id"] == problem_id(path.read_text()), name


def test_the_readme_tells_the_table_as_it_is() -> None:
    lines = [line for line in README.read_text().splitlines() if line.startswith("| L")]
    told = [tuple(cell.strip(" `") for cell in line.strip("|").split("|")) for line in lines]
    assert told == [(rule.level, rule.reason, rule.when) for rule in TABLE]


def test_every_row_names_its_judge_and_its_reason(tmp_path: Path) -> None:
    place = Workplace(cache=tmp_path, shared=tmp_path, data=tmp_path)
    [[outcome]] = STAGE.work([row()], LabelSettings(), place)
    assert isinstance(outcome, Kept)
    assert outcome.columns["judge"] == JUDGE == "rules-v1"
    assert outcome.columns["rationale"]
    assert outcome.columns["agreement"] == 1.0


def test_a_row_without_facts_is_failed_and_not_trivial() -> None:
    assert isinstance(judge_by_rules(row(ops={})), Failed)


@pytest.mark.parametrize(
    ("ops", "level"),
    [
        ({"aten.relu.default": 1}, "L0"),
        ({"aten.mul.Tensor": 3, "aten.exp.default": 1}, "L1"),
        ({"aten.sub.Tensor": 1, "aten.abs.default": 1, "aten.mean.default": 1}, "L1"),
        ({"aten.sub.Tensor": 1, "aten.abs.default": 1, "aten.mean.dim": 1}, "L2"),
        ({"aten._softmax.default": 1}, "L2"),
        ({"aten.native_layer_norm.default": 1, "aten.gelu.default": 1}, "L2"),
        ({"aten.mm.default": 1}, "L3"),
        ({"aten.convolution.default": 1, "aten.relu.default": 1}, "L3"),
        ({"aten.cumsum.default": 1}, "L3"),
        ({"aten.mm.default": 1, "aten._softmax.default": 1}, "L4"),
        ({"aten.bmm.default": 2, "aten._softmax.default": 1}, "L5"),
        ({"aten._scaled_dot_product_flash_attention_for_cpu.default": 1}, "L5"),
    ],
    ids=str,
)
def test_landmarks(ops: dict[str, int], level: str) -> None:
    assert level_of(ops) == level


@pytest.mark.parametrize(
    "ops",
    [
        {"aten.mul.Tensor": 4},
        {"aten.mul.Tensor": 2, "aten.sum.dim_IntList": 1},
        {"aten.mm.default": 1, "aten.relu.default": 1},
        {"aten.convolution.default": 4, "aten.relu.default": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("more", ["aten.add.Tensor", "aten.mm.default", "aten._softmax.default"])
def test_more_work_of_the_same_kind_is_never_easier(ops: dict[str, int], more: str) -> None:
    harder = ops | {more: ops.get(more, 0) + 1}
    assert level_of(harder) >= level_of(ops)


@pytest.mark.parametrize(
    "op",
    [
        "aten.add_.Tensor",
        "aten.add.Tensor",
        "aten::add",
        "aten.add",
        "add",
        "torch.ops.aten.add.Tensor",
    ],
)
def test_an_operation_has_one_name_however_it_was_written(op: str) -> None:
    assert base_name(op) == "add"


def test_kinds_that_are_told_by_prefix() -> None:
    assert kind_of("_scaled_dot_product_efficient_attention") == "attention"
    assert kind_of("_fft_r2c") == "transforms"
    assert kind_of("an_operation_of_the_future") == "pointwise"


def test_views_and_copies_do_not_count() -> None:
    ops = {"aten.view.default": 9, "aten.clone.default": 5, "aten.t.default": 3}
    assert facts_of(row(ops=ops)).pointwise == 0
    assert level_of(ops | {"aten.neg.default": 1}) == "L0"
