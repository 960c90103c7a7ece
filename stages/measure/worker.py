"""Measures programs: the part that runs where crawled code runs. Standard library and torch only.

`handle(request) -> dict` is the same on a CPU inside the sandbox and on a bare GPU machine.

Request:
    programs   list of {key, code, atol, rtol, slowest_ms}: all but key and code may be null
    modes      in this order: eager, inductor, inductor-max-autotune
    device     cpu or cuda
    dtype      float32 or bfloat16
    tf32       whether TF32 is allowed, for matmul and for convolution
    rules      fields of protocol.Rules that differ from the device's own
    flush_mb   CPU only: bytes to write before each call; 0 leaves the caches warm
    gate       lock file of the GPU, or null
    cores      {timing, compiling}: cores for whoever holds the gate, and for all others; or null
    phases     file to write the current phase to, for the time limits of a parent, or null
    partial    file to leave each finished record in, or null
    until      time.monotonic() after which only the first program is begun; optional
    count      whether to count flops and bytes
Answer:
    {"records": [...], "environment": {...}, "state": {...}}; one record for each program and mode,
    always. `state` is what changes from minute to minute: clocks, temperature, load; and `spent_s`,
    the seconds of each phase with the gate (`measure`), without it (`compile aside`), waiting.

Eager is read before anything is compiled, so that it never sees what a compiler leaves behind.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from . import inductor, program, protocol
from .device import CpuDevice, CudaDevice
from .gate import Gate
from .work import count

Record = dict[str, Any]

_TRUSTED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x @ x, -1)

def get_inputs():
    return [torch.rand(8, 8)]

def get_init_inputs():
    return []
"""
_DEVICE_LOST = ("illegal memory access", "device-side assert", "unspecified launch", "ECC error")
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
_WRONG_DEVICE = ("on the same device", "but got device", "is on cpu", "Cannot access data pointer")
_WRONG_DTYPE = (
    "same dtype",
    "scalar type",
    "expected dtype",
    "not implemented for '",
    "mat1 and mat2 must have the same",
    "Unsupported dtype",
    "to have type Float",
)


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """One record for each program and mode; never raises for what a program does."""
    each = list(answers(request))
    records = [record for answer in each for record in answer["records"]]
    return {**each[-1], "records": records}


def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One answer for each program, as soon as it is there.

    Ends early where the device is lost to this process, or when `until` is over: what is missing
    then was not begun. The first is always begun, so that a process without an answer is a crash.
    """
    device = CudaDevice() if request["device"] == "cuda" else CpuDevice(_flush_bytes(request))
    _set_precision(request["tf32"])
    session = Session(request, device)
    for place, item in enumerate(request["programs"]):
        if place and time.monotonic() > request.get("until", float("inf")):
            return
        with torch.no_grad():
            records = session.measure(item)
        yield {
            "records": records,
            "environment": session.environment(),
            "state": {**device.state(), "spent_s": session.spent_s()},
        }
        if any(record["status"] == "illegal_access" for record in records):
            return


def warm_up() -> None:
    """Reads a trusted program, so that forks of this process find everything imported."""
    item = {"key": "trusted", "code": _TRUSTED}
    fixed = {"device": "cpu", "dtype": "float32", "tf32": False, "count": True}
    handle({"programs": [item], "modes": ["eager"], **fixed})


class Session:
    """What the readings of one process share."""

    def __init__(self, request: dict[str, Any], device: CpuDevice | CudaDevice) -> None:
        own = protocol.GPU_RULES if device.kind == "cuda" else protocol.CPU_RULES
        self._request = request
        self._device = device
        self._rules = replace(own, **request.get("rules", {}))
        self._phases = _Phases(request.get("phases"))
        self._gate = Gate(request.get("gate"), self._tell, device.settle)

    def measure(self, item: dict[str, Any]) -> list[Record]:
        """All modes of one program."""
        blanks = [self._blank(item, mode) for mode in self._request["modes"]]
        try:
            prepared = self._prepare(item)
        except Exception as error:  # noqa: BLE001  crawled code may raise anything
            self._pass_on_if_alive()
            return [blank | _failure(error, "error") for blank in blanks]
        records = []
        for blank in blanks:
            records.append(self._measured(prepared, blank))
            self._note(records[-1])
        del prepared
        self._pass_on_if_alive()
        return records

    def _note(self, record: Record) -> None:
        """Leaves a finished record for the parent, should the next mode end this process."""
        path = self._request.get("partial")
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"record": record, "environment": self.environment()}) + "\n")

    def _measured(self, prepared: _Prepared, blank: Record) -> Record:
        record = blank | prepared.facts
        eager = record["mode"] == "eager"
        try:
            self._measure_mode(prepared, record["mode"], record)
        except Exception as error:  # noqa: BLE001  so may code that a compiler made
            record |= _failure(error, "error" if eager else "compile_error")
        return record

    def _pass_on_if_alive(self) -> None:
        self._phases("leave")
        try:
            self._device.give_back()  # before the gate: unmapping gigabytes disturbs who times next
            self._gate.pass_on()
        except RuntimeError:
            self._gate.drop()  # settling a lost device raises; the next one must not wait for us

    def spent_s(self) -> dict[str, float]:
        return self._phases.spent_s()

    def environment(self) -> dict[str, Any]:
        return {
            "protocol": protocol.VERSION,
            **self._device.environment(),
            "grad": False,
            "train": False,
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
            "matmul_precision": torch.get_float32_matmul_precision(),
        }

    def _tell(self, event: str) -> None:
        """Whoever holds the gate launches from cores that no compilation runs on."""
        cores = self._request.get("cores")
        if cores and event != "wait":
            os.sched_setaffinity(0, cores["timing" if event == "hold" else "compiling"])
        self._phases(event)

    def _prepare(self, item: dict[str, Any]) -> _Prepared:
        self._phases("load")
        built = program.build(item["code"])
        self._gate.take()
        self._phases("place")
        loaded = program.place(built, self._device.torch_device, self._request["dtype"])
        self._phases("count")
        return _Prepared(loaded, item, self._request)

    def _measure_mode(self, prepared: _Prepared, mode: str, record: Record) -> None:
        if mode == "eager":
            self._gate.take()
            self._read(prepared, prepared.loaded.model, record)
            return
        if self._device.kind == "cpu" and not inductor.compiler_works():
            record["status"] = "no_compiler"
            return
        self._gate.take()
        inputs = prepared.loaded.fresh()
        self._gate.pass_on()
        self._phases("compile")
        compiled = inductor.compiled(prepared.loaded.model, mode, self._gate)
        output = compiled.call(*inputs)
        self._gate.take()
        self._phases("check")
        record |= compiled.facts()
        difference = prepared.difference(output)
        del output
        record["agreement"] = difference.worst
        if difference.share > 0 and prepared.agrees(difference):
            prepared.reasons.append("few_differ")
        if not prepared.agrees(difference):
            record["detail"] = f"{difference.share:.2%} of the elements differ from eager"
            record["status"] = protocol.CHANGED_OUTPUT
            return
        self._read(prepared, compiled.call, record)

    def _read(self, prepared: _Prepared, call: Callable[..., Any], record: Record) -> None:
        self._phases("measure")
        rules = self._rules
        if prepared.slowest_ms is not None:
            rules = replace(rules, slowest_ms=prepared.slowest_ms)
        self._device.reset_peak()

        def agrees(output: Any) -> bool:
            return prepared.agrees(prepared.difference(output))

        reading = protocol.measure(
            self._device,
            call,
            prepared.loaded.fresh,
            agrees,
            rules,
            each_call=prepared.mutates,
        )
        record |= reading.as_dict()
        record["peak_bytes"] = self._device.peak_bytes()
        record["reasons"] = sorted({*record["reasons"], *prepared.reasons})
        if record.get("graph_breaks"):
            record["reasons"].append("graph_break")
        if self._device.kind == "cuda" and reading.median_ms is not None:
            record["host_share"] = _host_share(self._device, call, prepared.loaded.fresh(), reading)

    def _blank(self, item: dict[str, Any], mode: str) -> Record:
        return {
            "key": item["key"],
            "mode": mode,
            "device": self._device.name,
            "device_kind": self._device.kind,
            "dtype": self._request["dtype"],
            "tf32": self._request["tf32"],
            "protocol": protocol.VERSION,
            "status": "error",
            "reasons": [],
            "median_ms": None,
            "raw_ms": [],
        }


class _Prepared:
    """A loaded program, its expected output, and what one eager call showed."""

    def __init__(
        self, loaded: program.Loaded, item: dict[str, Any], request: dict[str, Any]
    ) -> None:
        self.loaded = loaded
        self.facts: dict[str, Any] = {"inputs_made_on": loaded.inputs_made_on}
        self.reasons: list[str] = []
        self.slowest_ms: float | None = item.get("slowest_ms")
        inputs = loaded.fresh()
        versions = [tensor._version for tensor in program.tensors(inputs)]
        if request.get("count", False):
            work, output = count(loaded.model, inputs)
            self.facts["work"] = work.as_dict()
        else:
            output = loaded.model(*inputs)
        self.mutates = versions != [tensor._version for tensor in program.tensors(inputs)]
        if self.mutates:
            self.reasons.append("mutates_inputs")
        self._expected = program.copied(output)
        if not self._expected:
            raise ValueError("the model gives no tensor")
        scale = program.scale_of(self._expected)
        self._tolerance = program.tolerance(
            request["dtype"], item.get("atol"), item.get("rtol"), scale, tf32=request["tf32"]
        )

    def difference(self, output: Any) -> program.Difference:
        return self._tolerance.difference(output, self._expected)

    def agrees(self, difference: program.Difference) -> bool:
        return self._tolerance.agrees(difference)


class _Phases:
    """Writes the current phase where the parent that enforces time limits can see it.

    Also adds up how long each took: where a GPU's time goes is what planning needs to know.
    """

    def __init__(self, path: str | None) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644) if path else None
        self._doing, self._gate = "start", "compute"
        self._since = time.monotonic()
        self._spent: dict[str, float] = {}

    def __call__(self, phase: str) -> None:
        """`wait`, `hold` and `compute` say who has the gate; anything else is what is done."""
        self._add()
        if phase in ("wait", "hold", "compute"):
            self._gate = phase
        else:
            self._doing = phase
        if self._file is not None:
            shown = "wait" if self._gate == "wait" else self._doing
            os.pwrite(self._file, f"{shown:<12}{self._since:<24.3f}".encode(), 0)

    def spent_s(self) -> dict[str, float]:
        """Seconds by phase since last asked; `aside` is what was done without the gate."""
        self._add()
        spent, self._spent = self._spent, {}
        return {name: round(seconds, 4) for name, seconds in spent.items()}

    def _add(self) -> None:
        now = time.monotonic()
        aside = "" if self._gate == "hold" else " aside"
        name = "wait" if self._gate == "wait" else self._doing + aside
        self._spent[name] = self._spent.get(name, 0.0) + now - self._since
        self._since = now


def _host_share(device: Any, call: Callable[..., Any], inputs: Any, reading: Any) -> float:
    """Share of back-to-back calls that the host needs to hand them out; near 1: launch-bound."""
    calls = max(3, min(30, int(20 / reading.median_ms)))
    device.settle()
    started = time.perf_counter()
    for _ in range(calls):
        call(*inputs)
    issued = time.perf_counter()
    device.settle()
    return round((issued - started) / (time.perf_counter() - started), 3)


def _failure(error: Exception, otherwise: str) -> Record:
    text = f"{type(error).__name__}: {error}"
    if any(words in text for words in _DEVICE_LOST):
        status = "illegal_access"
    elif isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY):
        status = "oom"
    elif any(words in text for words in _WRONG_DTYPE):
        status = "unsupported_dtype"
    elif any(words in text for words in _WRONG_DEVICE):
        status = "wrong_device"
    else:
        status = otherwise
    where = "".join(traceback.format_tb(error.__traceback__, limit=-3))
    return {"status": status, "median_ms": None, "detail": f"{text[:1500]}\n{where[-1500:]}"}


def _set_precision(tf32: bool) -> None:
    # Both, explicitly: torch's defaults allow TF32 for convolution and not for matmul.
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = False


def _flush_bytes(request: dict[str, Any]) -> int:
    return int(request.get("flush_mb", 0)) * 2**20
