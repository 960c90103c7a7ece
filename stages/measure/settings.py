"""What a recipe may say about measuring."""

from typing import Literal

from pydantic import Field, field_validator

from pipeline.stage import Settings

Mode = Literal["eager", "inductor", "inductor-max-autotune"]


class Precision(Settings):
    """In which numbers a problem is measured."""

    dtype: Literal["float32", "bfloat16"] = "float32"
    tf32: bool = Field(
        default=False, description="allow TF32 in matmul and convolution (float32 only)"
    )


class MeasureSettings(Settings):
    """What is measured, and on what."""

    device: Literal["auto", "cpu", "cuda", "gpu-workers", "none"] = Field(
        "auto",
        description="auto takes a GPU if the machine has one; gpu-workers: Dask workers that were "
        "started with --resources GPU=1; none only joins known figures",
    )
    modes: tuple[Mode, ...] = Field(
        ("eager", "inductor"),
        description="eager is always measured; max-autotune takes minutes each",
    )
    precisions: tuple[Precision, ...] = Field(
        (Precision(),), description="separate baselines, never pooled; on a CPU float32 is usual"
    )
    runs: int = Field(5, ge=3, description="timed runs of a block; the median is reported")
    known: Literal["none", "beside", "instead"] = Field(
        "beside",
        description="figures in data/baselines/, each named by its device: beside this machine's, or "
        "instead of them where a problem has them",
    )
    inductor_share_cpu: float = Field(
        0.1,
        ge=0,
        le=1,
        description="share of problems, chosen by the hash of problem_id, that are also compiled on a "
        "CPU, where each costs 2 to 4 s; only at the first shape",
    )
    inductor_calls_cpu: int = Field(
        100, ge=0, description="a problem of more ATen operations is not compiled on a CPU: minutes"
    )
    cpu_shapes: int = Field(
        5, ge=1, description="shapes of a problem, from the first, that are timed on a CPU"
    )
    cpu_call_limit_ms: float = Field(
        2000, gt=0, description="a call at the first shape that takes longer on a CPU is not timed"
    )
    cpu_other_call_limit_ms: float = Field(
        250, gt=0, description="the same at the other shapes: `too_slow`, the problem stays"
    )
    cpu_flush_mb: int = Field(
        0,
        ge=0,
        description="memory to write before each CPU call; 0: caches stay warm, and it is said",
    )
    wall_s: float = Field(90, gt=0, description="seconds for one problem in one mode on a CPU")
    memory_mb: int = Field(8192, gt=0, description="address space of a measuring child on a CPU")
    gpu_workers: int = Field(
        0, ge=0, description="children that compile ahead while the GPU times; 0: cores less two"
    )
    window_ms: tuple[float, float] | None = Field(
        None,
        description="training window of eager times on a GPU, e.g. [1, 1000] as in arXiv 2602.11000; "
        "outside it a row is flagged `outside_window`",
    )
    remove_outside_window: bool = Field(
        False, description="remove a problem of which no shape lies in the window on a GPU"
    )

    @field_validator("modes")
    @classmethod
    def _eager_first(cls, modes: tuple[str, ...]) -> tuple[str, ...]:
        if not modes or modes[0] != "eager":
            raise ValueError("modes must begin with eager: the other modes are compared with it")
        return modes
