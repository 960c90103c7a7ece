"""Predicted GPU minutes, before a run starts.

Measured on one H200 with 16 cores; the numbers are replaced when a newer run is on record.
"""

GPU_S_PER_READING = 0.25  # warm-up, five runs and checks of one program in one mode
COMPILE_S = 6.0  # one program, on one core
START_S = 30.0  # fork server, seed and first canary


def predicted_minutes(jobs: int, compiled_modes: int, cores: int = 14) -> float:
    """Minutes for `jobs` programs: the GPU's own time or the compilers', whichever is longer."""
    timing_s = jobs * (1 + compiled_modes) * GPU_S_PER_READING
    compiling_s = jobs * compiled_modes * COMPILE_S / cores
    return (START_S + max(timing_s, compiling_s)) / 60
