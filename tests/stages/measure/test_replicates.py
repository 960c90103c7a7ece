"""Readings of several runs: two that agree, two that don't, and the third that decides."""

import json
from typing import Any

import pytest

from stages.measure.replicates import joined


def row(median_ms: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "status": "ok" if median_ms else "noisy",
        "median_ms": median_ms,
        "raw_ms": [median_ms or 9.0] * 5,
        "reasons": [],
        "floor_ms": 0.5,
        "headroom": median_ms and median_ms / 0.5,
        "protocol": "2",
        "environment": json.dumps({"torch": "2.11"}),
    } | changes


def test_two_readings_that_agree_are_one_with_both_medians_on_record() -> None:
    both = joined(row(1.0), row(1.02))
    assert (both["status"], both["reasons"]) == ("ok", [])
    assert both["median_ms"] in (1.0, 1.02)
    assert json.loads(both["environment"])["replicates_ms"] == [1.0, 1.02]


def test_two_readings_that_differ_are_no_baseline() -> None:
    both = joined(row(1.0), row(1.04))
    assert (both["status"], both["median_ms"], both["headroom"]) == ("noisy", None, None)
    assert both["reasons"] == ["replicate"]


@pytest.mark.parametrize(("third", "value"), [(1.05, 1.05), (1.01, 1.01)])
def test_a_third_decides_for_the_one_it_agrees_with(third: float, value: float) -> None:
    three = joined(joined(row(1.0), row(1.06)), row(third))
    assert (three["status"], three["median_ms"]) == ("ok", value)
    assert three["headroom"] == value / 0.5
    assert three["reasons"] == ["replicate"]
    assert json.loads(three["environment"])["replicates_ms"] == [1.0, 1.06, third]


def test_three_that_differ_stay_no_baseline() -> None:
    three = joined(joined(row(1.0), row(1.1)), row(1.2))
    assert (three["status"], three["median_ms"]) == ("noisy", None)


def test_the_same_reading_again_is_no_replicate() -> None:
    assert joined(row(1.0), row(1.0)) == row(1.0)


def test_a_failed_run_does_not_undo_an_accepted_one_nor_the_other_way_round() -> None:
    assert joined(row(1.0), row(None)) == row(1.0)
    assert joined(row(None), row(1.0)) == row(1.0)


def test_another_protocol_or_torch_replaces_and_is_not_compared() -> None:
    assert joined(row(1.0, protocol="1"), row(2.0)) == row(2.0)
    older = row(1.0, environment=json.dumps({"torch": "2.10"}))
    assert joined(older, row(2.0)) == row(2.0)
