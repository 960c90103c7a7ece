"""TorchInductor: compiles a model, counts what came out, keeps the generated code."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .gate import Gate

MAX_AUTOTUNE = "inductor-max-autotune"


@dataclass
class Compiled:
    """A compiled model and what was seen of its compilation; complete after the first call."""

    call: Callable[..., Any]
    sources: list[str] = field(default_factory=list)
    compile_s: float = 0.0

    def facts(self) -> dict[str, Any]:
        from torch._dynamo.utils import counters

        return {
            "compile_s": round(self.compile_s, 4),
            "graphs": int(counters["stats"]["unique_graphs"]),
            "graph_breaks": sum(counters["graph_break"].values()),
            "triton_kernels": sum(count_triton(source) for source in self.sources),
            "cpp_kernels": sum(
                source.count("async_compile.cpp_pybinding(") for source in self.sources
            ),
            "extern_kernels": sum(count_extern(source) for source in self.sources),
            "generated_code": "\n\n".join(self.sources),
        }


def count_triton(source: str) -> int:
    """Triton kernels that an output code defines."""
    return len(re.findall(r"^\w+ = async_compile\.triton\(", source, re.MULTILINE))


def count_extern(source: str) -> int:
    """Calls that an output code makes into cuBLAS, cuDNN and ATen instead of a generated kernel."""
    body = source[source.find("def call(") :]
    return len(re.findall(r"\bextern_kernels\.\w+\(|\btorch\.ops\.\w+\.\w+(?:\.\w+)?\(", body))


def compiled(model: torch.nn.Module, mode: str, gate: Gate) -> Compiled:
    """The model under torch.compile; compilation happens in the first call.

    Compiling needs the CPU alone and is done without the gate; compiled code, and what Inductor
    benchmarks while it compiles, runs with it.

    Args:
        model: what to compile.
        mode: `inductor` or `inductor-max-autotune`.
        gate: the device's.
    """
    from torch._dynamo.utils import counters
    from torch._inductor.compile_fx import compile_fx

    torch._dynamo.reset()
    counters.clear()
    result = Compiled(call=model)
    options = (
        {"max_autotune": True, "coordinate_descent_tuning": True} if mode == MAX_AUTOTUNE else {}
    )

    def backend(graph: Any, example_inputs: Any) -> Callable[..., Any]:
        gate.pass_on()
        started = time.perf_counter()
        with _captured(result.sources), _benchmarks_behind(gate):
            inner = compile_fx(graph, example_inputs, config_patches=options)
        result.compile_s += time.perf_counter() - started

        def run(*arguments: Any) -> Any:
            gate.take()
            return inner(*arguments)

        return run

    result.call = torch.compile(model, backend=backend, dynamic=False)
    return result


def use_private_caches(home: str) -> None:
    """Points every cache of this process into `home`: nobody can poison what nobody shares."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(home) / "inductor")
    os.environ["TRITON_CACHE_DIR"] = str(Path(home) / "triton")


def be_cold() -> None:
    """Compiles in this process, from nothing: compile_s is then what a user pays."""
    from torch._inductor import config

    config.compile_threads = 1
    config.fx_graph_cache = False
    config.force_disable_caches = False
    config.autotune_local_cache = False


def compiler_works() -> bool:
    """Whether the machine has the C++ compiler that Inductor needs on a CPU."""
    return any(shutil.which(name) for name in (os.environ.get("CXX") or "g++", "clang++"))


def warm_up_cpu() -> None:
    """Lets a trusted process pay once for what every compilation needs.

    Its forks inherit the instruction sets found and all imports. Not the precompiled header: 150 MB
    that no sandboxed child could see; without it a compilation takes 2 to 4 s instead of 1 to 2.
    """
    import torch._dynamo
    import torch._inductor.compile_fx
    from torch._inductor import config

    be_cold()
    config.cpp_cache_precompile_headers = False
    progress = sys.modules.get("tqdm")
    if progress is not None:
        progress.tqdm.monitor_interval = 0  # no thread of its own in a process that forks
    home = tempfile.mkdtemp(prefix="kernelset-warm-")
    try:
        use_private_caches(home)
        with torch.no_grad():
            torch.compile(_Trusted(), dynamic=False)(torch.rand(64, 64))
    finally:
        torch._dynamo.reset()
        shutil.rmtree(home, ignore_errors=True)


class _Trusted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) + torch.relu(x)


@contextmanager
def _benchmarks_behind(gate: Gate) -> Iterator[None]:
    """Inductor times candidates on the device while it compiles, e.g. to decide on padding."""
    from torch._inductor.runtime.benchmarking import benchmarker

    names = [
        n for n in ("benchmark_gpu", "benchmark_gpu_with_cuda_graph") if hasattr(benchmarker, n)
    ]
    kept = {name: getattr(benchmarker, name) for name in names}

    def behind(function: Callable[..., Any]) -> Callable[..., Any]:
        def benchmark(*arguments: Any, **options: Any) -> Any:
            with gate.held():
                return function(*arguments, **options)

        return benchmark

    for name, function in kept.items():
        setattr(benchmarker, name, behind(function))
    try:
        yield
    finally:
        for name in names:
            delattr(benchmarker, name)  # the method of its class shows again


@contextmanager
def _captured(sources: list[str]) -> Iterator[None]:
    from torch._inductor.graph import GraphLowering

    kept = GraphLowering.save_output_code
    GraphLowering.save_output_code = staticmethod(sources.append)
    try:
        yield
    finally:
        GraphLowering.save_output_code = kept
