"""An embedding of each row's canonical code.

The embedder is handed in: which there are is known to the decontaminate stage, and the command line
opens one (see stages/__main__.py). Its vectors are kept under the digest of the text, in the cache
that a run fills, so that after `kernelset run` a sample embeds nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelset.problem import Problem
from pipeline.source.canonical import canonical_form

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Embedder:
    """A text in, a unit vector out."""

    identity: str  # model and revision: vectors of two embedders are never compared
    embed: Callable[[str], Vectors]
    near_l2: float  # L2 distance below which it calls two programs near copies


@dataclass(frozen=True)
class EmbedderChoice:
    """Which embedder is wanted."""

    name: str = "minilm"
    revision: str = ""
    base_url: str = ""
    near_l2: float | None = None  # None: the embedder's calibrated threshold


def embed(problems: Sequence[Problem], embedder: Embedder) -> Vectors:
    """A unit vector for each problem, in order: (problems, dimensions)."""
    return np.stack([embedder.embed(canonical_form(problem.code)) for problem in problems])
