"""What the protocol makes of a device, told by devices with scripted clocks."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import cycle, repeat
from time import sleep
from typing import Any

import pytest

from stages.measure import protocol
from stages.measure.protocol import Reading, Rules
from tests.stages.measure.scripted import ScriptedDevice

ONE_CALL = replace(protocol.GPU_RULES, run_ms=0.0, warm_ms=0.0)  # k = 1, 7 calls of warm-up
WARM = 7


def read(
    device: ScriptedDevice,
    rules: Rules = ONE_CALL,
    agrees: Callable[[Any], bool] = lambda output: True,
    fresh: Callable[[], tuple[()]] = lambda: (),
) -> Reading:
    return protocol.measure(device, device.call, fresh, agrees, rules)


def after_warm_up(times_ms: Iterable[float]) -> ScriptedDevice:
    return ScriptedDevice([*repeat(1.0, WARM), *times_ms])


def test_a_quiet_device_is_read_once_and_the_median_of_five_runs_is_reported() -> None:
    device = after_warm_up([1.00, 1.02, 1.01, 0.99, 1.03])
    reading = read(device)
    assert reading.status == "ok"
    assert reading.median_ms == pytest.approx(1.01)
    assert reading.raw_ms == pytest.approx([1.00, 1.02, 1.01, 0.99, 1.03])
    assert (reading.inner_calls, reading.warm_calls, len(reading.blocks)) == (1, WARM, 1)


def test_one_outlier_of_five_is_not_averaged_in_but_measured_again() -> None:
    reading = read(after_warm_up([1.0, 1.0, 7.0, 1.0, 1.0]))
    assert reading.status == "ok"
    assert reading.median_ms == pytest.approx(1.0)
    assert {"retried", "spread"} <= set(reading.reasons)
    assert len(reading.blocks) == 2
    assert max(reading.blocks[0]) == pytest.approx(7.0)


def test_a_bimodal_device_is_noisy_and_has_no_median_and_the_retries_end() -> None:
    device = ScriptedDevice(cycle([1.0, 1.0, 1.0, 1.3, 1.3]))
    reading = read(device)
    assert reading.status == "noisy"
    assert reading.median_ms is None
    assert len(reading.blocks) == 1 + ONE_CALL.retries
    assert len(reading.raw_ms) == 5


def test_a_steady_drift_within_the_spread_is_still_noticed() -> None:
    climb = [1.0, 1.01, 1.02, 1.03, 1.04]
    reading = read(after_warm_up(climb * (1 + ONE_CALL.retries)))
    assert reading.status == "noisy"
    assert "drift" in reading.reasons


def test_the_block_of_least_spread_is_kept_and_all_are_recorded() -> None:
    wide, wider = [1.0, 1.0, 1.0, 1.0, 1.2], [1.0, 1.0, 1.0, 1.0, 1.9]
    reading = read(after_warm_up([*wider, *wide, *wider]), replace(ONE_CALL, retries=2))
    assert reading.raw_ms == pytest.approx(wide)
    assert len(reading.blocks) == 3


def test_a_compilation_inside_the_window_voids_the_block() -> None:
    device = after_warm_up([])

    def call() -> str:
        if device.calls == WARM + 2:
            device.compiled += 1
        return device.call()

    reading = protocol.measure(device, call, lambda: (), lambda output: True, ONE_CALL)
    assert reading.status == "ok"
    assert {"recompile", "retried"} <= set(reading.reasons)


def test_throttling_voids_the_block_and_the_power_limit_is_only_noted() -> None:
    device = after_warm_up([])
    device.complaints = lambda calls: ["throttle"] if calls > WARM else []
    assert read(device).status == "noisy"

    device = after_warm_up([])
    device.complaints = lambda calls: ["power_cap"] if calls > WARM else []
    reading = read(device)
    assert (reading.status, reading.reasons) == ("ok", ["power_cap"])


def test_a_clock_far_below_the_canarys_is_measured_again() -> None:
    rules = replace(ONE_CALL, clock_mhz=1980.0)
    device = after_warm_up([])
    device.clock = lambda calls: 1500.0 if calls <= WARM + 5 else 1965.0
    reading = read(device, rules)
    assert (reading.status, reading.reasons) == ("ok", ["clock", "retried"])

    device = after_warm_up([])
    device.clock = lambda calls: 1500.0
    assert read(device, rules).status == "noisy"


def test_a_clock_that_the_power_limit_lowered_is_how_the_program_runs() -> None:
    device = after_warm_up([])
    device.clock = lambda calls: 1500.0
    device.complaints = lambda calls: ["power_cap"] if calls > WARM else []
    assert read(device, replace(ONE_CALL, clock_mhz=1980.0)).reasons == ["power_cap"]


def test_what_was_wrong_before_the_block_is_not_held_against_it() -> None:
    device = after_warm_up([])
    device.complaints = lambda calls: ["throttle"] if calls <= WARM else []
    assert read(device).status == "ok"


def test_the_caches_are_flushed_before_every_timed_call_and_outside_its_window() -> None:
    device = after_warm_up([])
    reading = read(device)
    assert reading.median_ms == pytest.approx(1.0)  # the flush's 0.06 ms are not in it
    events = [event for event in device.events if event != "settle"]
    assert events == ["flush", "mark", "call", "mark"] * (len(events) // 4)


def test_the_device_is_waited_for_before_and_after_each_run() -> None:
    device = after_warm_up([])
    read(device)
    assert device.events[0] == "settle"
    assert device.events[-1] == "settle"


def test_slow_first_calls_are_warm_up() -> None:
    device = ScriptedDevice([900.0, 30.0, 9.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.1])
    reading = read(device, replace(ONE_CALL, warm_ms=50.0))
    assert reading.median_ms == pytest.approx(1.0)
    assert reading.warm_calls > 9


def test_warm_up_goes_on_until_the_device_was_busy_long_enough() -> None:
    reading = read(ScriptedDevice([]), replace(ONE_CALL, warm_ms=50.0))
    assert reading.warm_calls >= 50


def test_warm_up_ends_on_a_device_that_never_settles() -> None:
    device = ScriptedDevice(cycle([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]))
    assert read(device, replace(ONE_CALL, warm_cap_ms=200.0)).status == "noisy"


def test_short_calls_are_repeated_in_a_run_and_their_number_is_recorded() -> None:
    reading = read(ScriptedDevice([], after=0.1), replace(ONE_CALL, run_ms=5.0))
    assert reading.inner_calls in (50, 51)
    assert len(reading.raw_ms) == 5


def test_a_call_that_the_clock_cannot_resolve_is_too_small_to_be_a_reward() -> None:
    reading = read(ScriptedDevice([], after=0.005))
    assert (reading.status, reading.median_ms) == ("too_small", None)


def test_what_is_too_small_is_not_called_noisy() -> None:
    device = ScriptedDevice(cycle([0.004, 0.005, 0.009]))
    assert read(device).status == "too_small"


def test_the_host_has_a_head_start_of_what_a_call_costs_it_and_no_more_than_the_limit() -> None:
    device = ScriptedDevice([])

    def slow_host() -> str:
        sleep(0.002)
        return device.call()

    limited = replace(ONE_CALL, head_start_ms=1.0)
    protocol.measure(device, slow_host, lambda: (), lambda output: True, limited)
    assert device.head_starts[0] == 0.0  # nothing is known yet
    assert set(device.head_starts[1:]) == {1.0}

    device = ScriptedDevice([])
    read(device)
    assert 0 < device.head_starts[-1] < 1.0

    device = ScriptedDevice([])
    read(device, replace(ONE_CALL, head_start_ms=protocol.CPU_RULES.head_start_ms))
    assert set(device.head_starts) == {0.0}


def test_warm_up_of_a_tiny_call_ends_by_number() -> None:
    reading = read(ScriptedDevice([], after=0.03), replace(ONE_CALL, warm_ms=50.0))
    assert ONE_CALL.warm_most <= reading.warm_calls < ONE_CALL.warm_most + 3


def test_a_call_beyond_the_limit_is_made_once_and_not_timed() -> None:
    device = ScriptedDevice([], after=5000.0)
    reading = read(device, replace(ONE_CALL, slowest_ms=4000.0))
    assert (reading.status, reading.median_ms, device.calls) == ("too_slow", None, 1)


def test_a_slow_call_gets_less_warm_up_but_always_five_runs() -> None:
    device = ScriptedDevice([], after=2000.0)
    reading = read(device)
    assert (reading.status, len(reading.raw_ms), device.calls) == ("ok", 5, 6)


def test_an_output_that_changed_while_it_was_timed_is_no_baseline() -> None:
    reading = read(after_warm_up([]), agrees=lambda output: False)
    assert (reading.status, reading.median_ms) == ("mismatch", None)


def test_the_last_timed_output_is_the_one_that_is_compared() -> None:
    seen: list[Any] = []
    device = after_warm_up([])
    read(device, agrees=lambda output: not seen.append(output))
    assert seen == ["output"]


def test_inputs_are_cloned_before_each_run() -> None:
    clones: list[int] = []
    device = after_warm_up([])

    def fresh() -> tuple[()]:
        clones.append(len(device.events))
        return ()

    read(device, fresh=fresh)
    in_the_block = [at for at in clones if device.events[:at].count("call") >= WARM]
    assert len(in_the_block) == 5
    for at in in_the_block:
        assert device.events[at] == "settle"  # whatever cloning started is over before the window


def test_a_program_that_changes_its_inputs_gets_new_ones_for_every_call() -> None:
    clones: list[int] = []
    device = ScriptedDevice([], after=0.5)
    rules = replace(ONE_CALL, run_ms=5.0)
    reading = protocol.measure(
        device, device.call, lambda: clones.append(1) or (), lambda output: True, rules,
        each_call=True,
    )  # fmt: skip
    assert reading.inner_calls > 5
    assert len(clones) == device.calls
