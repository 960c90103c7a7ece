"""`baseline`: one measured time of one problem at one shape on one named device.

Times are milliseconds. `median_ms` is the median of `raw_ms`; a row whose status is not `ok` has
no median and must not be used as a denominator. A speedup is a ratio of two rows of the same
device, dtype and tf32.
"""

from schemas.columns import column, flag, integer, real, reals, table, text, texts

MEASUREMENT = [
    column("shape_id", text, "which of the problem's shapes", nullable=True),
    column("mode", text, "eager, inductor or inductor-max-autotune", nullable=True),
    column("device", text, "the device's own name: a GPU's, or the CPU's model", nullable=True),
    column("device_kind", text, "cuda or cpu", nullable=True),
    column("dtype", text, "float32 or bfloat16", nullable=True),
    column("tf32", flag, "whether TF32 was allowed for matmul and convolution", nullable=True),
    column("status", text, "ok, or why there is no time: noisy, mismatch, oom, …", nullable=True),
    column("reasons", texts, "flags such as launch_bound, no_headroom, graph_break", nullable=True),
    column("detail", text, "one line on why there is no time", nullable=True),
    column("median_ms", real, "median of raw_ms; null unless ok", unit="ms", nullable=True),
    column("raw_ms", reals, "one value for each timed run", unit="ms", nullable=True),
    column("relative_range", real, "(greatest - least) / median of raw_ms", nullable=True),
    column(
        "inner_calls",
        integer,
        "calls per timed run; raw_ms holds each run's median call",
        nullable=True,
    ),
    column("compile_s", real, "time to compile", unit="s", nullable=True),
    column("graphs", integer, "graphs that TorchDynamo captured", nullable=True),
    column("graph_breaks", integer, "places where it gave up and began anew", nullable=True),
    column("triton_kernels", integer, "generated Triton kernels", nullable=True),
    column("extern_kernels", integer, "calls into cuBLAS, cuDNN, ATen", nullable=True),
    column(
        "agreement",
        real,
        "greatest difference to eager, in units of the tolerance; null for eager",
        nullable=True,
    ),
    column("generated_code", text, "Inductor's output code; empty for eager", nullable=True),
    column("peak_bytes", integer, "peak memory of one call", unit="byte", nullable=True),
    column(
        "floor_ms",
        real,
        "speed of light by roofline; null where the device is not in data/devices.toml",
        unit="ms",
        nullable=True,
    ),
    column("headroom", real, "median_ms / floor_ms", nullable=True),
    column("intensity", real, "work over least traffic", unit="flop/byte", nullable=True),
    column("bound", text, "what the floor is made of: memory, compute or launch", nullable=True),
    column("protocol", text, "version of stages/measure/protocol.py", nullable=True),
    column(
        "environment", text, "JSON: torch, triton, driver, power limit, threads, …", nullable=True
    ),
]

BASELINE_FIELDS = {field.name: field.type for field in MEASUREMENT}
"""The same as fields of the column `baselines` of a problem."""

BASELINE = table(
    [
        column("problem_id", text, "the problem that was timed"),
        column("program_sha256", text, "digest of the program at this shape, as it was executed"),
        column("code_digest", text, "identity of the measuring code"),
    ],
    MEASUREMENT,
)
"""A file of baselines, as in data/baselines/."""
