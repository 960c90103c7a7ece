"""`baseline`: one measured time of one problem at one shape on one named device.

Times are milliseconds. `median_ms` is the median of `raw_ms`; a row whose status is not `ok` has
no median and must not be used as a denominator. A speedup is a ratio of two rows of the same
device, dtype and tf32.
"""

from schemas.columns import column, flag, integer, real, reals, table, text, texts

BASELINE_FIELDS = {
    "shape_id": text,  # which of the problem's shapes
    "mode": text,  # eager, inductor or inductor-max-autotune
    "device": text,  # the device's own name, e.g. "NVIDIA H200" or the CPU's model
    "device_kind": text,  # cuda or cpu
    "dtype": text,  # float32 or bfloat16
    "tf32": flag,  # whether TF32 was allowed for matmul and convolution
    "status": text,  # ok, or the reason why there is no time, e.g. noisy, mismatch, oom
    "reasons": texts,  # flags such as launch_bound, no_headroom, graph_break
    "detail": text,  # one line on why there is no time, null where there is one
    "median_ms": real,
    "raw_ms": reals,  # one value for each timed run
    "relative_range": real,  # (greatest - least) / median of raw_ms
    "inner_calls": integer,  # calls per timed run; raw_ms holds each run's median call
    "compile_s": real,
    "graphs": integer,
    "graph_breaks": integer,
    "triton_kernels": integer,  # generated Triton kernels
    "extern_kernels": integer,  # calls into cuBLAS, cuDNN, ATen
    "agreement": real,  # greatest difference to eager, in units of the tolerance; null for eager
    "generated_code": text,  # Inductor's output code, empty for eager
    "peak_bytes": integer,
    "floor_ms": real,  # speed of light by roofline, null where the device is not in the table
    "headroom": real,  # median_ms / floor_ms
    "intensity": real,  # flop per byte of the least traffic
    "bound": text,  # memory, compute or launch: what the floor is made of
    "protocol": text,  # version of stages/measure/protocol.py
    "environment": text,  # JSON: torch, triton, driver, power limit, threads, …
}

BASELINE = table(
    [
        column("problem_id", text, "the problem that was timed"),
        column("program_sha256", text, "digest of the program at this shape, as it was executed"),
        column("code_digest", text, "identity of the measuring code"),
    ],
    [
        column(name, kind, "see schemas/baseline.py", nullable=True)
        for name, kind in BASELINE_FIELDS.items()
    ],
)
"""A file of baselines, as in data/baselines/."""
