"""The interface of an embedder, and what all of them share."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import KernelsetError

Vector = NDArray[np.float32]

WINDOWS = "windows-1"
"""How long texts are split and averaged; part of an embedder's identity, as vectors depend on it."""


class EmbeddingFailed(Exception):
    """This one text has no usable vector; another may, and so may a later try."""


class EmbedderUnavailable(KernelsetError):
    """The embedder can't be used at all: weights, adapter or endpoint are missing or foreign."""


class Embedder(Protocol):
    """Turns a text into a unit vector of float32."""

    @property
    def identity(self) -> str:
        """Model, revision, adapter and windowing: vectors of two identities are never compared."""

    def embed(self, text: str) -> Vector:
        """The text's unit vector; the same whatever was embedded before or after.

        Raises:
            EmbeddingFailed: the vector is zero, not finite, or did not come.
        """


def unit(vector: NDArray[np.floating]) -> Vector:
    """The vector at unit length.

    Raises:
        EmbeddingFailed: it is zero, or has a value that is not finite.
    """
    values = np.asarray(vector, np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise EmbeddingFailed("the vector has values that are not finite")
    length = float(np.linalg.norm(values))
    if length < 1e-12:
        raise EmbeddingFailed("the vector is zero")
    return (values / length).astype(np.float32)


def mean_of_windows(vectors: Sequence[NDArray[np.floating]], lengths: Sequence[int]) -> Vector:
    """One unit vector for a text from the vectors of its windows, weighted by their lengths."""
    weights = np.asarray(lengths, np.float64) / sum(lengths)
    units = np.stack([unit(vector) for vector in vectors]).astype(np.float64)
    return unit(weights @ units)


def window_ends(breaks: Sequence[bool], size: int) -> list[int]:
    """Where windows of at most `size` tokens end, at the last line break that fits if there is one.

    `breaks[i]`: a new line begins between token i - 1 and token i.
    """
    ends, start = [], 0
    while len(breaks) - start > size:
        cut = next((i for i in range(start + size, start, -1) if breaks[i]), start + size)
        ends.append(cut)
        start = cut
    return [*ends, len(breaks)]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread meanwhile: the last digits of a sum depend on how many share it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(threads)
