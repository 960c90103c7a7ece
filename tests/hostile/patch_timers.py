"""Stops every clock, then takes 0.3 seconds."""

import time

sleep, time.time, time.perf_counter, time.monotonic = (
    time.sleep,
    lambda: 0.0,
    lambda: 0.0,
    lambda: 0.0,
)
time.perf_counter_ns = time.monotonic_ns = time.time_ns = lambda: 0


def run():
    sleep(0.3)
    return "contained"
