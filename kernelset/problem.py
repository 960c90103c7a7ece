"""One problem of a release.

**What executes.** `model`, `inputs` and `init_inputs` run the row's program in your process, with
your rights. The pipeline ran it only in a sandbox, where it passed the gates of `validate`; it is
crawled code all the same. Where that matters (keys in the environment, a shared machine), call
them in a container, and run a model's candidate kernels in another process in any case: code that
runs beside the comparison can change it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernelset.baseline import Baseline, read_baseline
from kernelset.baseline import choose as choose_baseline
from kernelset.comparison import Tolerance, worst_difference
from kernelset.execution import execute, seeded
from kernelset.reward import value
from kernelset.shape import Shape, read_shape
from kernelset.shape import choose as choose_shape
from pipeline.errors import KernelsetError, UsageError
from pipeline.source.program import apply_sizes

if TYPE_CHECKING:
    import types

    import torch

ENTRY_POINT = "Model"


@dataclass(frozen=True)
class Problem:
    """One self-contained PyTorch program with its shapes, tolerance and measured times.

    Wherever a `shape` is asked for, it is a `Shape`, a shape's name, its id, or None for the first
    one that is not held out.
    """

    row: Mapping[str, Any] = field(repr=False)
    """All columns but the generated code of `baselines`; see schemas/problem.py."""

    @property
    def problem_id(self) -> str:
        return str(self.row["problem_id"])

    @property
    def name(self) -> str:
        """The author's name of the class that became `Model`."""
        return str(self.row["class_name"])

    @property
    def level(self) -> str:
        """Difficulty, L0 to L5."""
        return str(self.row["level"])

    @property
    def split(self) -> str:
        return str(self.row["split"])

    @property
    def code(self) -> str:
        """The program as it was extracted, at its own small sizes."""
        return str(self.row["code"])

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(read_shape(shape) for shape in self.row["shapes"])

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        """All measured times, those that were not accepted included."""
        return tuple(read_baseline(one) for one in self.row["baselines"])

    def shape(self, wanted: Shape | str | None = None) -> Shape:
        """Raises UnknownShape if there is none of that name or id."""
        return choose_shape(self.shapes, wanted, str(self))

    def program(self, shape: Shape | str | None = None) -> str:
        """The program's text with the sizes of a shape put in; the rest is byte for byte `code`."""
        return apply_sizes(self.code, self.shape(shape).sizes)

    def model(self, shape: Shape | str | None = None, seed: int = 0) -> "torch.nn.Module":
        """The reference at a shape, on the CPU, in eval mode as it was measured.

        Executes the row's program in your process (see the top of this file).

        Args:
            seed: of the weights. Your own generators are left as they were.
        """
        module = self._module(shape)
        with seeded(seed):
            model: torch.nn.Module = module.Model(*module.get_init_inputs()).eval()
        return model

    def inputs(self, shape: Shape | str | None = None, seed: int = 0) -> list[Any]:
        """Arguments of one forward call, on the CPU; another seed draws others.

        Executes the row's program in your process (see the top of this file).
        """
        module = self._module(shape)
        with seeded(seed):
            return list(module.get_inputs())

    def init_inputs(self, shape: Shape | str | None = None) -> list[Any]:
        """Arguments of the constructor.

        Executes the row's program in your process (see the top of this file).
        """
        module = self._module(shape)
        with seeded(0):
            return list(module.get_init_inputs())

    def baseline(
        self,
        device: str,
        shape: Shape | str | None = None,
        mode: str = "inductor",
        dtype: str = "float32",
        tf32: bool = False,
    ) -> Baseline:
        """The measured time of the reference.

        Args:
            device: part of the device's name in any case ("h200"), or its kind ("cuda", "cpu").
            mode: inductor (what the paper's speedups are relative to), inductor-max-autotune, eager.
            dtype: float32 or bfloat16.
            tf32: whether TF32 was allowed; such a time is another baseline, never mixed in.

        Raises:
            MissingBaseline: there is none, or its measurement was not accepted.
        """
        return choose_baseline(
            self.baselines,
            device=device,
            shape=self.shape(shape),
            mode=mode,
            dtype=dtype,
            tf32=tf32,
            whose=str(self),
        )

    def reward(
        self,
        seconds: float | None,
        correct: bool,
        *,
        device: str,
        shape: Shape | str | None = None,
        mode: str = "inductor",
        dtype: str = "float32",
        tf32: bool = False,
    ) -> float:
        """V of arXiv 2602.11000: 0 if wrong, else sigmoid(1 + max(0, speedup) - 1.8).

        Args:
            seconds: the kernel's time, on the same device, shape and dtype; unused if it is wrong.

        Raises:
            MissingBaseline: see `baseline`; also for a wrong kernel, so that a gap shows early.
            UsageError: the time of a correct kernel is missing or not above zero.
        """
        base = self.baseline(device, shape, mode, dtype, tf32)
        if not correct:
            return value(0.0, False)
        if seconds is None or not seconds > 0:
            raise UsageError(f"{self}: the time of a correct kernel is above zero, not {seconds}")
        return value(base.seconds / seconds, True)

    def tolerance(self, dtype: str = "float32") -> Tolerance:
        """The row's own, in float32 or bfloat16.

        Raises:
            KernelsetError: the program proves nothing in that dtype, so it has no tolerance.
            UsageError: no such dtype.
        """
        try:
            suffix = {"float32": "", "bfloat16": "_bf16"}[dtype]
        except KeyError:
            raise UsageError(f"dtype {dtype!r}: there are float32 and bfloat16") from None
        atol, rtol = self.row[f"atol{suffix}"], self.row[f"rtol{suffix}"]
        if atol is None or rtol is None:
            raise KernelsetError(f"{self}: no tolerance in {dtype}; compare in float32")
        return Tolerance(atol, rtol)

    def matches(self, output: Any, reference: Any, dtype: str = "float32") -> bool:
        """Whether a kernel's output is right: every element within the row's tolerance.

        Args:
            output: what the kernel gave: a tensor or containers of tensors.
            reference: what `model()` gave for the same inputs; containers are not compared.
        """
        return worst_difference(output, reference, self.tolerance(dtype)) <= 1.0

    def __hash__(self) -> int:
        return hash(self.problem_id)

    def __str__(self) -> str:
        return f"{self.name} ({self.problem_id[:12]})"

    def __repr__(self) -> str:
        return f"<Problem {self} {self.level}, {len(self.shapes)} shapes>"

    def _module(self, shape: Shape | str | None) -> "types.ModuleType":
        chosen = self.shape(shape)
        name = f"kernelset_program_{self.problem_id[:16]}_{chosen.shape_id}"
        return execute(self.program(chosen), name)
