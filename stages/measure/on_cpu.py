"""Measuring on this machine's CPU: crawled code runs in the sandbox, one child at a time."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.files import whole_file
from pipeline.sandbox import Fault, Limits, Reply, shared_sandbox
from pipeline.stage import Workplace
from stages.measure.carried import code_digest, sandbox_worker
from stages.measure.settings import MeasureSettings, Precision

_STATUS = {  # of a sandbox's fault
    "timeout": "timeout",
    "cpu_limit": "timeout",
    "memory_limit": "oom",
    "server_lost": "crash",
}


class CpuMeter:
    """Measures programs, and remembers what it has measured in the stage's folder.

    The memory is what makes a second run of a changed recipe cheap and its times the same.
    """

    def __init__(self, device: str, settings: MeasureSettings, place: Workplace) -> None:
        self._device = device
        self._settings = settings
        self._place = place

    def records(
        self, mode: str, precision: Precision, programs: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """One record for each program, with its `environment`, in order.

        Args:
            mode: eager or a compiled mode.
            precision: dtype and TF32.
            programs: {key, code, atol, rtol, slowest_ms} each; keys differ.
        """
        known = {item["key"]: self._recall(mode, precision, item) for item in programs}
        missing = [item for item in programs if known[item["key"]] is None]
        for record in self._measure(mode, precision, missing):
            known[record["key"]] = record
        for item in missing:
            self._remember(mode, precision, item, known[item["key"]])
        return [known[item["key"]] for item in programs]  # type: ignore[misc]

    def _measure(
        self, mode: str, precision: Precision, programs: Sequence[Mapping[str, Any]]
    ) -> Iterable[dict[str, Any]]:
        if not programs:
            return []
        outcome = self._run(mode, precision, programs)
        if isinstance(outcome, Reply):
            checked = _checked(outcome, programs)
            if checked is not None:
                return checked
            outcome = Fault("bad_result", "not one record for each program", "", 0.0, "")
        if len(programs) == 1:
            return [self._faulty(mode, precision, programs[0], outcome)]
        # One shape may have brought the others down: each gets a child of its own.
        return [record for item in programs for record in self._measure(mode, precision, [item])]

    def _run(
        self, mode: str, precision: Precision, programs: Sequence[Mapping[str, Any]]
    ) -> Reply | Fault:
        settings = self._settings
        compiles = mode != "eager"
        limits = Limits(
            wall_s=settings.wall_s,
            cpu_s=int(settings.wall_s) + 1,
            memory_mb=settings.memory_mb,
            file_mb=256,
            allow_exec=compiles,
        )
        worker = sandbox_worker(self._place.cache / "worker", compiles=compiles)
        sandbox = shared_sandbox(worker, limits, self._place.minimum_sandbox)
        request = {
            "programs": [dict(item) for item in programs],
            "modes": [mode],
            "device": "cpu",
            "dtype": precision.dtype,
            "tf32": precision.tf32,
            "rules": {"runs": settings.runs},
            "flush_mb": settings.cpu_flush_mb,
            "count": True,
        }
        return sandbox.run(request, limits)

    def _faulty(
        self, mode: str, precision: Precision, item: Mapping[str, Any], fault: Fault
    ) -> dict[str, Any]:
        return {
            "key": item["key"],
            "mode": mode,
            "device": self._device,
            "device_kind": "cpu",
            "dtype": precision.dtype,
            "tf32": precision.tf32,
            "status": _STATUS.get(fault.reason, fault.reason),
            "reasons": [],
            "median_ms": None,
            "raw_ms": [],
            "detail": fault.detail[-500:],
            "environment": {},
        }

    def _recall(
        self, mode: str, precision: Precision, item: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        path = self._memory(mode, precision, item)
        if not path.exists():
            return None
        return {**json.loads(path.read_text("utf-8")), "key": item["key"]}

    def _remember(
        self, mode: str, precision: Precision, item: Mapping[str, Any], record: Any
    ) -> None:
        if not could_not_tell(record["status"]):
            with whole_file(self._memory(mode, precision, item)) as path:
                path.write_text(json.dumps(record, sort_keys=True), "utf-8")

    def _memory(self, mode: str, precision: Precision, item: Mapping[str, Any]) -> Path:
        settings = self._settings
        what = {
            **{name: item[name] for name in ("code", "atol", "rtol", "slowest_ms")},
            "mode": mode,
            "precision": [precision.dtype, precision.tf32],
            "device": self._device,
            "measuring": code_digest(),
            "rules": [settings.runs, settings.cpu_flush_mb, settings.wall_s, settings.memory_mb],
        }
        name = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        return self._place.cache / "cpu" / name[:2] / f"{name[2:32]}.json"


def could_not_tell(status: str) -> bool:
    """Whether a status says nothing about the program: it is measured again next time."""
    return status in ("noisy", "timeout", "crash", "no_result", "bad_result", "worker_error")


def _checked(reply: Reply, programs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """The records, if there is one for each program: the answer came from where crawled code ran."""
    records = reply.value.get("records")
    environment = reply.value.get("environment")
    if not isinstance(records, list) or not isinstance(environment, dict):
        return None
    if [record.get("key") for record in records] != [item["key"] for item in programs]:
        return None
    environment = {**environment, "sandbox_level": reply.sandbox_level}
    return [{**record, "environment": environment} for record in records]
