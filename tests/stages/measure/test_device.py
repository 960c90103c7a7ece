"""The two devices behind the protocol; CUDA's by a stand-in, since tests run without a GPU."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from stages.measure import device as devices
from stages.measure import nvml, protocol
from stages.measure.device import CpuDevice, CudaDevice


class FakeCuda:
    """Events on a clock that moves by 0.5 ms between any two of them."""

    def __init__(self) -> None:
        self.clock = itertools.count()
        self.made = 0
        self.waits = 0
        self.slept: list[int] = []

    def event(self, enable_timing: bool) -> Any:
        assert enable_timing
        self.made += 1
        event = SimpleNamespace(at=-1)
        event.record = lambda: setattr(event, "at", next(self.clock))
        event.elapsed_time = lambda other: (other.at - event.at) * 0.5
        return event

    def synchronize(self) -> None:
        self.waits += 1


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    properties = SimpleNamespace(
        name="NVIDIA H200", uuid="1234", L2_cache_size=60 * 2**20, major=9, minor=0,
        multi_processor_count=132, total_memory=141 * 2**30,
    )  # fmt: skip
    real_empty = torch.empty
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    monkeypatch.setattr(torch.cuda, "Event", fake.event)
    monkeypatch.setattr(torch.cuda, "synchronize", fake.synchronize)
    monkeypatch.setattr(torch.cuda, "_sleep", fake.slept.append)
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda: {"num_device_alloc": 3})
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 77)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(devices.torch, "empty", lambda n, dtype, device: real_empty(8, dtype=dtype))
    return fake


def test_a_gpu_is_timed_by_events_that_are_made_once(cuda: FakeCuda) -> None:
    gpu = CudaDevice()
    reading = protocol.measure(
        gpu, lambda: torch.zeros(1), lambda: (), lambda output: True, protocol.GPU_RULES
    )
    assert reading.status == "ok"
    assert reading.median_ms == pytest.approx(0.5)
    assert cuda.made <= 2 * max(reading.inner_calls, 3)
    assert cuda.waits > 10


def test_a_head_start_is_the_flush_and_then_a_spin_for_the_rest(cuda: FakeCuda) -> None:
    gpu = CudaDevice()
    gpu.flush(0.3)  # learns: by the clock above both a flush and a spin take 0.5 ms
    cuda.slept.clear()
    gpu.flush(0.3)
    assert cuda.slept == []
    gpu.flush(0.8)
    assert cuda.slept == [pytest.approx(0.3 / 0.5 * devices.SPIN_CYCLES, rel=0.01)]


def test_a_gpus_row_says_which_gpu_it_was(cuda: FakeCuda) -> None:
    gpu = CudaDevice()
    environment = gpu.environment()
    assert (gpu.name, environment["uuid"], environment["multiprocessors"]) == (
        "NVIDIA H200",
        "1234",
        132,
    )
    assert environment["flush_bytes"] >= 2 * environment["l2_bytes"]
    assert gpu.peak_bytes() == 77
    assert gpu.disturbances() == {"recompile": 0, "new_memory": 3}


def test_a_driver_without_nvml_is_said_and_not_fatal(cuda: FakeCuda, monkeypatch: Any) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(nvml.ctypes, "CDLL", missing)
    gpu = CudaDevice()
    assert gpu.troubles() == []
    assert gpu.state() == {"nvml": False}
    assert nvml.gpus() == []


def test_the_cpu_says_its_name_its_threads_and_whether_its_caches_were_flushed() -> None:
    cold, warm = CpuDevice(flush_bytes=2**20), CpuDevice()
    assert cold.name == devices.cpu_name() != ""
    assert (cold.environment()["flush_bytes"], warm.environment()["flush_bytes"]) == (2**20, 0)
    assert cold.environment()["threads"] >= 1
