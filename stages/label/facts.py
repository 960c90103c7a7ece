"""Traced facts of a row, sorted by what they mean for the writer of a kernel."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = {
    name: frozenset(ops.split())
    for name, ops in tomllib.loads(Path(__file__).with_name("ops.toml").read_text()).items()
}
_SAME = {"max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d"}


@dataclass(frozen=True)
class Facts:
    """How many operations of each kind one forward has, and how much there is to win by fusing.

    The kinds are those of ops.toml.
    """

    pointwise: int  # batch norm in eval mode is a scale and a shift
    layout: int
    dense: int
    convolutions: int
    attention: int  # fused
    reductions: int
    norms: int
    windows: int
    gathers: int
    scans: int
    sorts: int
    dynamic: int
    solvers: int
    transforms: int  # Fourier
    cells: int
    fusion: float  # bytes moved op by op over bytes that must be moved: 1 is nothing to win
    intensity: float  # flops per byte that must be moved

    @property
    def products(self) -> int:
        return self.dense + self.convolutions

    @property
    def work(self) -> int:
        """Operations that a kernel would be written for."""
        return (
            self.pointwise + self.layout + self.products + self.attention + self.reductions
            + self.norms + self.windows + self.gathers + self.scans + self.sorts + self.dynamic
            + self.solvers + self.transforms + self.cells
        )  # fmt: skip


def facts_of(row: Mapping[str, Any]) -> Facts:
    """The facts of a row of the problem table."""
    kinds: Counter[str] = Counter()
    for op, count in op_counts(row).items():
        kinds[kind_of(op)] += count
    fused = max(1, int(row.get("bytes_fused") or 1))
    return Facts(
        **{name: kinds[name] for name in _COUNTED},
        fusion=max(1.0, float(row.get("bytes_unfused") or 0) / fused),
        intensity=float(row.get("flops") or 0) / fused,
    )


def kind_of(op: str) -> str:
    """The kind of an operation by its base name."""
    if op.removeprefix("_").startswith("scaled_dot_product"):
        return "attention"
    if op.removeprefix("_").startswith("fft_"):
        return "transforms"
    return next((kind for kind, ops in KINDS.items() if op in ops), "pointwise")


def op_counts(row: Mapping[str, Any]) -> dict[str, int]:
    """Operations by base name: `aten.add_.Tensor`, `aten::add`, `aten.add` and `add` are one."""
    counts: Counter[str] = Counter()
    for item in row.get("ops") or ():
        counts[base_name(item["op"])] += int(item["count"])
    return dict(sorted(counts.items()))


def base_name(op: str) -> str:
    parts = op.replace("::", ".").removeprefix("torch.ops.").split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return _SAME.get(name, name)


_COUNTED = ("pointwise", *(kind for kind in KINDS if kind != "free"), "attention", "transforms")
