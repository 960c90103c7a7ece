"""What is in a release, counted: funnel, levels, operations, sources, reasons, shapes."""

import pandas as pd

from pipeline.report.reading import Release

LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5")
OUTCOMES = ("in", "kept", "removed", "failed")

OP_FAMILIES = {
    "matrix product": ("mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "einsum", "dot", "mv"),
    "attention": ("attention", "flash"),
    "convolution": ("convolution", "conv1d", "conv2d", "conv3d"),
    "normalisation": ("norm", "softmax"),
    "pooling, resampling": ("pool", "upsample", "interpolate", "grid_sampler"),
    "reduction, scan": (
        "sum", "mean", "amax", "amin", "max", "min", "var", "std", "prod", "cumsum", "cumprod",
        "logsumexp", "argmax", "argmin", "any", "all",
    ),
    "moving data": (
        "gather", "scatter", "index", "embedding", "sort", "topk", "take", "bincount", "searchsorted",
        "cat", "stack", "roll", "flip", "pad", "copy", "repeat",
    ),
    "transform": ("fft", "linalg", "cdist", "inverse", "cholesky"),
}  # fmt: skip
"""A family takes an operation if one of these is a word of its name, or is in it and has at least
four letters; the first family wins. The rest is elementwise."""

VIEWS = frozenset(
    {
        "view", "_unsafe_view", "t", "transpose", "permute", "unsqueeze", "squeeze", "expand", "detach",
        "slice", "select", "split", "split_with_sizes", "unbind", "reshape", "alias", "as_strided",
        "lift_fresh", "movedim", "unfold", "chunk", "flatten", "narrow", "diagonal", "clone",
        "_to_copy", "empty", "zeros", "ones", "full", "arange", "_local_scalar_dense",
    }
)  # fmt: skip
"""Operations that compute nothing: they name, lay out or make memory."""


def funnel(release: Release) -> pd.DataFrame:
    """stage, in, kept, removed, failed; a line a stage. Empty without a manifest."""
    lines = [
        {"stage": line.get("address", {}).get("stage", "?")}
        | {name: int(line.get("rows", {}).get(name, 0)) for name in OUTCOMES}
        for line in release.stages
    ]
    return pd.DataFrame(lines, columns=["stage", *OUTCOMES])


def reasons(release: Release) -> pd.DataFrame:
    """stage, outcome, reason, rows; the most frequent first within a stage."""
    found = release.ledger.groupby(["stage", "outcome", "reason"], dropna=False).size()
    lines = found.rename("rows").reset_index()
    return lines.sort_values(["stage", "rows", "reason"], ascending=[True, False, True])


def levels(release: Release) -> pd.DataFrame:
    """level, problems; L0 to L5 in order, levels without a problem too, then unknown names."""
    found = release.problems["level"].dropna().value_counts()
    names = [*LEVELS, *sorted(set(found.index) - set(LEVELS))] if len(found) else []
    return _counts([(name, int(found.get(name, 0))) for name in names], "level")


def ops(release: Release, most: int = 14) -> pd.DataFrame:
    """op, problems: in how many problems an operation occurs. Views and copies are left out."""
    names = release.ops.assign(op=release.ops["op"].map(short_op))
    names = names[~names["op"].isin(VIEWS)].drop_duplicates(["row", "op"])
    return _most_frequent(names["op"], most, "op")


def op_families(release: Release) -> pd.DataFrame:
    """family, problems: in how many problems an operation of the family occurs."""
    names = release.ops.assign(op=release.ops["op"].map(short_op))
    names = names[~names["op"].isin(VIEWS)]
    families = names.assign(family=names["op"].map(op_family)).drop_duplicates(["row", "family"])
    return _most_frequent(families["family"], len(OP_FAMILIES) + 1, "family")


def sources(release: Release) -> pd.DataFrame:
    """origin, version, licence, problems; the largest first."""
    keys = ["origin", "version", "licence"]
    found = release.problems.groupby(keys, dropna=False).size().rename("problems").reset_index()
    return found.sort_values(["problems", *keys], ascending=[False, True, True, True])


def licences(release: Release) -> pd.DataFrame:
    """licence, problems; the most frequent first."""
    return _most_frequent(release.problems["licence"].dropna(), 40, "licence")


def shape_counts(release: Release) -> pd.DataFrame:
    """shapes, problems: how many problems have 1, 2, 3, … shapes."""
    found = release.shapes.groupby("row").size().value_counts().sort_index()
    return _counts([(str(name), int(count)) for name, count in found.items()], "shapes")


def short_op(op: str) -> str:
    """`aten.add.Tensor` is `add`."""
    parts = str(op).split(".")
    return parts[1] if len(parts) > 2 else parts[-1]


def op_family(op: str) -> str:
    words = op.strip("_").split("_")
    for family, keys in OP_FAMILIES.items():
        for key in keys:
            if key in words or op == key or (len(key) >= 4 and key in op):
                return family
    return "elementwise"


def _most_frequent(values: pd.Series, most: int, name: str) -> pd.DataFrame:
    found = sorted(values.value_counts().items(), key=lambda pair: (-pair[1], str(pair[0])))
    return _counts([(str(key), int(count)) for key, count in found[:most]], name)


def _counts(pairs: list[tuple[str, int]], name: str) -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=[name, "problems"])
