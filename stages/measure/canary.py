"""Two fixed pieces of work, to see whether the machine itself has changed.

A large bf16 matrix product (GEMM) and a large copy: what a device attains, beside what its data
sheet says, and a witness that two batches were measured on the same machine in the same state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from . import protocol
from .device import CpuDevice, CudaDevice
from .gate import Gate


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """{"canary": {...}}: times, and the rates that they mean."""
    cuda = request["device"] == "cuda"
    device = CudaDevice() if cuda else CpuDevice()
    size, length = (8192, 2**28) if cuda else (512, 2**22)
    kind = torch.bfloat16 if cuda else torch.float32
    rules = replace(protocol.GPU_RULES if cuda else protocol.CPU_RULES, warm_ms=200.0)
    gate = Gate(request.get("gate"), lambda phase: None, device.settle)
    gate.take()
    torch.manual_seed(0)
    # Random data: on zeros a GEMM runs some 10 % faster, for want of power drawn.
    a, b = (torch.randn(size, size, device=device.torch_device).to(kind) for _ in range(2))
    source = torch.randn(length, device=device.torch_device)
    target = torch.empty_like(source)
    gemm = _read(device, lambda: a @ b, rules)
    copy = _read(device, lambda: target.copy_(source), rules)
    clock_mhz = device.clock_mhz()  # after the copy: a GEMM may run into the power limit
    checked = bool(torch.equal(source, target))
    gate.pass_on()
    return {
        "canary": {
            "ok": checked,
            "gemm_ms": gemm,
            "copy_ms": copy,
            "gemm_tflops": 2 * size**3 / gemm / 1e9,
            "copy_gb_s": 2 * source.nbytes / copy / 1e6,
            "clock_mhz": clock_mhz,
        },
        "environment": device.environment(),
        "state": device.state(),
    }


def _read(device: Any, call: Any, rules: protocol.Rules) -> float:
    reading = protocol.measure(device, call, lambda: (), lambda output: True, rules)
    return sorted(reading.raw_ms)[len(reading.raw_ms) // 2]
