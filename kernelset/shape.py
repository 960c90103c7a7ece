"""A problem's shapes: named sizes that were executed before they were believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelset.errors import UnknownShape


@dataclass(frozen=True)
class Shape:
    """One set of sizes of a problem; see schemas/problem.py for the columns."""

    shape_id: str
    name: str  # train, infer, large, odd, held_out or as_written
    sizes: Mapping[str, int]  # the program's size constants
    working_set: int  # bytes, peak live tensors
    flops: int
    bytes_fused: int  # bytes, inputs, parameters and outputs once each
    held_out: bool  # whether training should never see it
    reason: str
    suggested_by: str

    def __str__(self) -> str:
        return f"{self.name} ({self.shape_id})"


def read_shape(row: Mapping[str, Any]) -> Shape:
    """A shape from its struct in the column `shapes`."""
    sizes = {size["name"]: size["value"] for size in row["sizes"]}
    return Shape(**{name: row[name] for name in Shape.__dataclass_fields__} | {"sizes": sizes})


def choose(shapes: Sequence[Shape], wanted: "Shape | str | None", whose: str) -> Shape:
    """The shape of that name or id; for None the first one that is not held out.

    Raises:
        UnknownShape: there is none, or the name fits several.
    """
    if isinstance(wanted, Shape):
        return choose(shapes, wanted.shape_id, whose)
    if wanted is None:
        found = [shape for shape in shapes if not shape.held_out][:1] or list(shapes[:1])
    else:
        found = [shape for shape in shapes if wanted in (shape.shape_id, shape.name)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(map(str, shapes)) or "none at all"
    if found:
        raise UnknownShape(f"{whose}: {wanted!r} fits several shapes; name one by its id: {there}")
    raise UnknownShape(f"{whose}: no shape {wanted or ''!r}; there are: {there}")
