"""Predicted GPU minutes, before a run starts.

Fitted to a run on an H200 with 16 cores (2026-12-01: 256 programs, eager and Inductor, in 354 s with
14 children compiling: 1.4 s each); KernelBench's larger problems took 2.4 s each.
"""

GPU_S_PER_READING = 0.65  # warm-up, five runs and checks of one program in one mode
COMPILE_S = 6.0  # one program, on one core
START_S = 30.0  # fork server, seed and first canary


def predicted_minutes(jobs: int, compiled_modes: int, cores: int = 14) -> float:
    """Minutes for `jobs` programs: the GPU's own time or the compilers', whichever is longer."""
    timing_s = jobs * (1 + compiled_modes) * GPU_S_PER_READING
    compiling_s = jobs * compiled_modes * COMPILE_S / cores
    return (START_S + max(timing_s, compiling_s)) / 60
