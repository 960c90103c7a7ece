"""Traced facts of a row, sorted by what they mean for the writer of a kernel."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

KINDS = {
    name: frozenset(ops.split())
    for name, ops in tomllib.loads(Path(__file__).with_name("ops.toml").read_text()).items()
}
_TOTALS = ("sum.default", "mean.default", "_loss.default")
_CHOICES = ("minimum", "maximum", "logsumexp", "amin", "amax", "logaddexp")
_SAME = {"max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d"}


@dataclass(frozen=True)
class Facts:
    """How many operations of each kind one forward has, and how much data its products reuse.

    The kinds are those of ops.toml.
    """

    pointwise: int  # batch norm in eval mode is a scale and a shift
    layout: int
    dense: int
    batched: int
    packed: int
    convolutions: int
    attention: int  # fused
    reductions: int
    totals: int  # of the reductions, those to a single number
    softmaxes: int
    norms: int
    windows: int
    patches: int
    gathers: int
    scatters: int
    scans: int
    sorts: int
    dynamic: int
    solvers: int
    transforms: int  # Fourier
    cells: int
    choices: int  # minima, maxima and log-sums, element by element or along an axis
    intensity: float  # floating-point operations per byte that must be moved

    @property
    def products(self) -> int:
        return self.dense + self.batched + self.convolutions

    @property
    def row_steps(self) -> int:
        """Steps that need more than one element: reductions, softmaxes, norms."""
        return self.reductions + self.softmaxes + self.norms

    @cached_property
    def names(self) -> dict[str, float]:
        """All of it by name, for the rules."""
        return asdict(self) | {"products": self.products, "row_steps": self.row_steps}


def facts_of(row: Mapping[str, Any]) -> Facts:
    """The facts of a row of the problem table."""
    kinds: Counter[str] = Counter()
    counts = op_counts(row)
    for op, count in counts.items():
        kinds[kind_of(op)] += count
    return Facts(
        **{name: kinds[name] for name in _COUNTED},
        totals=sum(int(i["count"]) for i in row["ops"] if i["op"].endswith(_TOTALS)),
        choices=sum(counts.get(op, 0) for op in _CHOICES),
        intensity=float(row["flops"]) / max(1, int(row["bytes_fused"])),
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
    """A custom operation has a name of its author's choice, which nobody needs to see."""
    parts = op.replace("::", ".").removeprefix("torch.ops.").split(".")
    if len(parts) > 1 and parts[0] not in ("aten", "prims"):
        return "custom"
    name = parts[1] if len(parts) > 1 else parts[0]
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return _SAME.get(name, name)


_COUNTED = ("pointwise", *(kind for kind in KINDS if kind != "free"), "attention", "transforms")
