"""Predicted GPU minutes, before a run starts.

Fitted to 1,402 jobs on an H200 with 16 cores (2026-12-02: problems at all shapes, eager and Inductor, 14
children compiling): the GPU was held for 0.85 s a job, 1.46 s for the first in a child and 0.88 s or less
for the others. KernelBench's larger problems took 2.4 s each.
"""

GPU_S_PER_READING = 0.43  # first call, warm-up, five runs and checks of one program in one mode
COMPILE_S = 6.0  # one program, on one core
START_S = 30.0  # fork server, seed and first canary


def predicted_minutes(jobs: int, compiled_modes: int, cores: int = 14) -> float:
    """Minutes for `jobs` programs: the GPU's own time or the compilers', whichever is longer."""
    timing_s = jobs * (1 + compiled_modes) * GPU_S_PER_READING
    compiling_s = jobs * compiled_modes * COMPILE_S / cores
    return (START_S + max(timing_s, compiling_s)) / 60
