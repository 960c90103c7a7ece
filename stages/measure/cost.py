"""Predicted GPU minutes, before a run starts: from history, and from the roofline of what is to do.

History is 298 jobs on an H200 with 16 cores (2026-12-03: problems at all shapes, eager and Inductor, 14
children compiling): a reading held the GPU for 0.41 s and 21 times its problem's floor. The warm-up, the
timed runs and the checks are about six calls, and a call takes 3.8 times its floor in the median.
KernelBench's 245 problems of one shape each, a child of its own for each, took 1.36 times what this says.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.measure import roofline
from stages.measure.settings import MeasureSettings

GPU_S_PER_READING = 0.41  # first call, warm-up, five runs and checks of one program in one mode
FLOORS_PER_READING = 21.0
COMPILE_S = 4.7  # one program, on one core: mean of 3,218
START_S = 30.0  # fork server, seed and first canary
PLANNED_ON = "NVIDIA H200"


def predicted_minutes(
    jobs: int, compiled_modes: int, cores: int = 14, floors_s: float = 0.0
) -> float:
    """Minutes for `jobs` programs: the GPU's own time or the compilers', whichever is longer.

    Args:
        jobs: programs, each in one dtype.
        compiled_modes: modes beside eager.
        cores: for compiling.
        floors_s: seconds of the jobs' roofline floors together, as far as they are known.
    """
    timing_s = (1 + compiled_modes) * (jobs * GPU_S_PER_READING + FLOORS_PER_READING * floors_s)
    compiling_s = jobs * compiled_modes * COMPILE_S / cores
    return (START_S + max(timing_s, compiling_s)) / 60


def forecast(rows: Sequence[Mapping[str, Any]], settings: MeasureSettings, data: Path) -> str:
    """One line on what measuring these problems costs a GPU.

    Args:
        rows: problems with their shapes.
        settings: the stage's; its precisions and modes multiply the work.
        data: the project's data folder, for the device table.
    """
    peaks = roofline.peaks_of(PLANNED_ON, data / "devices.toml")
    shapes = [shape for row in rows for shape in row["shapes"]]
    jobs = len(shapes) * len(settings.precisions)
    floors_ms = [
        roofline.floor(peaks, shape["flops"], 0, shape["bytes_fused"], p.dtype, p.tf32).floor_ms
        for shape in shapes
        for p in settings.precisions
        if peaks is not None and shape.get("flops") is not None and shape.get("bytes_fused")
    ]
    minutes = predicted_minutes(jobs, len(settings.modes) - 1, floors_s=sum(floors_ms) / 1e3)
    return (
        f"{len(rows):,} problems at {len(shapes):,} shapes ({jobs:,} jobs) are about "
        f"{minutes:.0f} minutes of an {PLANNED_ON.split()[-1]}"
    )
