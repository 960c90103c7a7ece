"""What every exported row says of its problem, as plain JSON values.

problem_id, name, level    as in the release
entry_point                the class to replace: Model
program                    the reference at the first shape
shapes                     each with sizes, flops, bytes and its own `program`, ready to be run
tolerance                  atol, rtol; atol_bf16, rtol_bf16 or null: see kernelset/comparison.py
baselines                  accepted times at these shapes: median_ms, floor_ms (roofline), headroom
roofline                   of the program at its own sizes: flops, bytes, parameters
reward                     the formula of kernelset/reward.py
origin                     source, version, path and licence of the author's code
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kernelset.baseline import OK, Baseline
from kernelset.problem import ENTRY_POINT, Problem
from kernelset.reward import FORMULA
from kernelset.shape import Shape
from pipeline.errors import UsageError
from schemas.columns import flag, integer, list_of, real, struct, text

ROOFLINE = ("parameters", "flops", "flops_matrix", "bytes_fused", "bytes_unfused", "working_set")
ORIGIN = ("source_name", "origin", "version", "path", "licence", "licence_sha256")
TOLERANCE = ("atol", "rtol", "atol_bf16", "rtol_bf16")

TYPES: dict[str, pa.DataType] = {
    "problem_id": text,
    "name": text,
    "level": text,
    "entry_point": text,
    "program": text,
    "shapes": list_of(
        shape_id=text,
        name=text,
        held_out=flag,
        sizes=list_of(name=text, value=integer),
        working_set=integer,
        flops=integer,
        bytes_fused=integer,
        program=text,
    ),
    "tolerance": struct(**dict.fromkeys(TOLERANCE, real)),
    "baselines": list_of(
        shape_id=text,
        mode=text,
        device=text,
        device_kind=text,
        dtype=text,
        tf32=flag,
        median_ms=real,
        relative_range=real,
        floor_ms=real,
        headroom=real,
        bound=text,
    ),
    "roofline": struct(**dict.fromkeys(ROOFLINE, integer)),
    "reward": text,
    "origin": struct(**dict.fromkeys(ORIGIN, text)),
}
"""The columns where a format is a table."""

SHAPE_CHOICES = ("train", "held-out", "all")


def facts(problem: Problem, which: str) -> dict[str, Any] | None:
    """The facts of a problem; None if it has none of the shapes asked for.

    Args:
        which: train leaves the held-out shapes to the evaluation, held-out is that evaluation.
    """
    shapes = chosen_shapes(problem.shapes, which)
    if not shapes:
        return None
    told = [_shape(problem, shape) for shape in shapes]
    ids = {shape.shape_id for shape in shapes}
    row = problem.row
    return {
        "problem_id": problem.problem_id,
        "name": problem.name,
        "level": problem.level,
        "entry_point": ENTRY_POINT,
        "program": told[0]["program"],
        "shapes": told,
        "tolerance": {name: row[name] for name in TOLERANCE},
        "baselines": [
            _baseline(one) for one in problem.baselines if one.status == OK and one.shape_id in ids
        ],
        "roofline": {name: row[name] for name in ROOFLINE},
        "reward": FORMULA,
        "origin": {name: row[name] for name in ORIGIN},
    }


def chosen_shapes(shapes: Sequence[Shape], which: str) -> list[Shape]:
    """Raises UsageError for a choice that there isn't."""
    if which not in SHAPE_CHOICES:
        raise UsageError(f"shapes {which!r}: one of {', '.join(SHAPE_CHOICES)}")
    return [shape for shape in shapes if which == "all" or shape.held_out == (which == "held-out")]


def _shape(problem: Problem, shape: Shape) -> dict[str, Any]:
    return {
        "shape_id": shape.shape_id,
        "name": shape.name,
        "held_out": shape.held_out,
        "sizes": [{"name": name, "value": value} for name, value in shape.sizes.items()],
        "working_set": shape.working_set,
        "flops": shape.flops,
        "bytes_fused": shape.bytes_fused,
        "program": problem.program(shape),
    }


def _baseline(one: Baseline) -> dict[str, Any]:
    names = [field.name for field in TYPES["baselines"].value_type]
    return {name: getattr(one, name) for name in names}
