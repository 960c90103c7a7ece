"""Speed of light, against figures worked out by hand."""

from pathlib import Path

import pytest

from pipeline.paths import DATA
from stages.measure import roofline
from stages.measure.roofline import Peaks

TABLE = DATA / "devices.toml"
ROUND = Peaks("round", 100.0, 500.0, 1000.0, 1000.0, 2.0, "made up")  # TFLOP/s, GB/s, microseconds


def test_a_large_product_is_bound_by_the_units_that_may_do_it() -> None:
    flops = 2 * 4096**3
    strict = roofline.floor(ROUND, flops, 0, 3 * 4096**2 * 4, "float32", False)
    tf32 = roofline.floor(ROUND, flops, 0, 3 * 4096**2 * 4, "float32", True)
    half = roofline.floor(ROUND, flops, 0, 3 * 4096**2 * 2, "bfloat16", False)
    assert strict.floor_ms == pytest.approx(flops / 100e12 * 1e3)
    assert tf32.floor_ms == pytest.approx(flops / 500e12 * 1e3)
    assert half.floor_ms == pytest.approx(flops / 1000e12 * 1e3)
    assert {strict.bound, tf32.bound, half.bound} == {"compute"}


def test_an_elementwise_pass_is_bound_by_memory() -> None:
    elements = 2**28
    floor = roofline.floor(ROUND, 0, elements, 2 * 4 * elements, "float32", False)
    assert floor.bound == "memory"
    assert floor.floor_ms == pytest.approx(8 * elements / 1000e9 * 1e3)
    assert floor.intensity == pytest.approx(1 / 8)


def test_nothing_is_faster_than_one_launch() -> None:
    floor = roofline.floor(ROUND, 0, 256, 2048, "float32", False)
    assert (floor.bound, floor.floor_ms) == ("launch", 0.002)


def test_tensor_cores_do_not_speed_up_what_is_no_product() -> None:
    elements = 10**12
    assert roofline.floor(ROUND, 0, elements, 8, "bfloat16", False).floor_ms == pytest.approx(10.0)


def test_a_device_is_found_by_the_longest_beginning_of_its_name() -> None:
    plain, nvl = (
        roofline.peaks_of("NVIDIA H200", TABLE),
        roofline.peaks_of("NVIDIA H200 NVL", TABLE),
    )
    assert plain is not None
    assert nvl is not None
    assert (plain.name, nvl.name) == ("NVIDIA H200", "NVIDIA H200 NVL")


def test_an_h100_and_an_h200_have_different_bandwidth() -> None:
    one, other = (
        roofline.peaks_of(name, TABLE) for name in ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
    )
    assert one is not None
    assert other is not None
    assert one.bandwidth / other.bandwidth == pytest.approx(0.7, abs=0.01)
    assert one.bfloat16 == other.bfloat16


def test_a_device_that_is_not_in_the_table_has_no_floor() -> None:
    assert roofline.peaks_of("Intel(R) Xeon(R) Processor", Path(TABLE)) is None
