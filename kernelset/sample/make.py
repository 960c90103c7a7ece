"""`sample`: from a release to a subset of it, step by step."""

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernelset.errors import ReleaseError
from kernelset.folders import check_replaceable
from kernelset.problem import Problem
from kernelset.problems import load
from kernelset.sample.clusters import cluster
from kernelset.sample.draw import Drawn, draw
from kernelset.sample.filters import Filters, eligible
from kernelset.sample.groups import TIES, groups
from kernelset.sample.split import split
from kernelset.sample.vectors import Embedder, embed
from kernelset.sample.write import Place, write
from kernelset.shards import full_rows, open_shards
from pipeline.errors import UsageError
from pipeline.files import read_json
from pipeline.identity import digest

KIND = "sample"
POLICY = 1
"""Bump when the same request would draw other rows."""


@dataclass(frozen=True)
class Request:
    """A sample's recipe."""

    size: int
    filters: Filters
    seed: int = 0
    clusters: int = 50  # arXiv 2602.11000
    validation: float = 0.1  # at most this share of the rows


def sample(
    release: str | Path,
    request: Request,
    folder: Path,
    *,
    root: Path,
    embedder: Embedder,
) -> dict[str, Any]:
    """Writes a subset of a release; gives its manifest.

    Args:
        release: folder or name below `root`.
        folder: taken over whole; an earlier sample there is replaced.

    Raises:
        UsageError: an impossible request, or the folder holds something else.
        ReleaseError: the release can't be read, or no row may be drawn.
    """
    check(request, folder)
    problems = load(release, out=root)
    able, left_out = eligible(problems, request.filters)
    if not able:
        told = ", ".join(f"{name} {count}" for name, count in left_out.items())
        raise ReleaseError(f"{problems.folder}: none of {len(problems)} rows is left; by {told}")
    able.sort(key=lambda problem: problem.problem_id)  # shards and their order are no matter

    vectors = embed(able, embedder)
    labels = cluster(vectors, request.clusters, request.seed)
    drawn = draw([one.problem_id for one in able], labels, request.size, request.seed)

    chosen = [able[row] for row in drawn.rows]
    together = groups([one.row for one in chosen], vectors[drawn.rows], embedder.near_l2)
    splits = split(together, request.validation, request.seed)

    places = {
        one.problem_id: Place(
            side, labels[row], drawn.sizes[labels[row]], drawn.expected[labels[row]]
        )
        for one, row, side in zip(chosen, drawn.rows, splits, strict=True)
    }
    manifest = {
        "kind": KIND,
        "policy": POLICY,
        "kernelset": version("kernelset"),
        "release": _release(problems.folder),
        "recipe": _recipe(request, embedder),
        "rows": {
            "release": len(problems),
            "left_out": left_out,
            "eligible": len(able),
            "drawn": len(chosen),
            "levels": _counts(chosen),
            "splits": dict(sorted(Counter(splits).items())),
            "groups": len(set(together)),
        },
        "clusters": _clusters(drawn),
        "content": digest({name: vars(place) for name, place in places.items()}),
    }
    write(full_rows(open_shards(problems.folder, root), list(places)), places, manifest, folder)
    return manifest


def check(request: Request, folder: Path) -> None:
    """Raises UsageError for an impossible request, or a folder that we did not write."""
    if request.size < 1 or request.clusters < 1:
        raise UsageError("size and clusters are 1 or more")
    if not 0 <= request.validation < 1:
        raise UsageError("validation is a share of the rows: 0 or more, below 1")
    check_replaceable(folder, _is_sample)


def _is_sample(folder: Path) -> bool:
    manifest = folder / "manifest.json"
    return manifest.is_file() and read_json(manifest).get("kind") == KIND


def _recipe(request: Request, embedder: Embedder) -> dict[str, Any]:
    return {
        "size": request.size,
        "seed": request.seed,
        "clusters": request.clusters,
        "validation": request.validation,
        "filters": request.filters.plain(),
        "embedder": embedder.identity,
        "near_l2": embedder.near_l2,
        "together": [*TIES, "near_l2"],
    }


def _release(folder: Path) -> dict[str, Any]:
    manifest = folder / "manifest.json"
    content = read_json(manifest).get("content") if manifest.exists() else None
    return {"name": folder.name, "content": content}


def _counts(problems: list[Problem]) -> dict[str, int]:
    return dict(sorted(Counter(one.level for one in problems).items()))


def _clusters(drawn: Drawn) -> list[dict[str, Any]]:
    return [
        {"rows": rows, "expected": round(expected, 6), "drawn": count}
        for rows, expected, count in zip(drawn.sizes, drawn.expected, drawn.counts, strict=True)
    ]
