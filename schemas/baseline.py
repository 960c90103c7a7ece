"""`baseline`: one measured time of one problem at one shape on one named device.

Times are milliseconds. `median_ms` is the median of `raw_ms`; a row whose status is not `ok` has
no median and must not be used as a denominator.
"""

from schemas.columns import column, flag, integer, real, reals, table, text, texts

BASELINE_FIELDS = {
    "shape_id": text,  # which of the problem's shapes
    "mode": text,  # eager, inductor or inductor-max-autotune
    "device": text,  # the device's own name, e.g. "NVIDIA H200" or the CPU's model
    "device_kind": text,  # cuda or cpu
    "dtype": text,  # float32 or bfloat16
    "tf32": flag,  # whether TF32 was allowed for matmul and convolution
    "status": text,  # ok, noisy, or the reason why there is no time
    "reasons": texts,  # flags such as launch_bound, no_headroom, graph_break
    "median_ms": real,
    "raw_ms": reals,
    "inner_calls": integer,  # calls per timed run; raw_ms holds each run's median call
    "compile_s": real,
    "graph_breaks": integer,
    "triton_kernels": integer,  # generated Triton kernels
    "extern_kernels": integer,  # calls into cuBLAS, cuDNN, ATen
    "generated_code": text,  # Inductor's output code, empty for eager
    "peak_bytes": integer,
    "floor_ms": real,  # speed of light by roofline, null where the device is not in the table
    "protocol": text,  # version of stages/measure/protocol.py
    "environment": text,  # JSON: torch, triton, driver, power limit, threads, …
}

BASELINE = table(
    [column("problem_id", text, "the problem that was timed")],
    [
        column(name, kind, "see schemas/baseline.py", nullable=True)
        for name, kind in BASELINE_FIELDS.items()
    ],
)
