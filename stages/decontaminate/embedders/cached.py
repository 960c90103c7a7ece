"""Vectors remembered by the digest of their text, one small file each."""

import hashlib
from pathlib import Path

import numpy as np

from pipeline.files import whole_file
from stages.decontaminate.embedders.base import Embedder, Vector


class Cached:
    """An embedder that embeds a text only once. A damaged file is made anew."""

    def __init__(self, embedder: Embedder, cache: Path) -> None:
        self._embedder = embedder
        name = hashlib.sha256(embedder.identity.encode()).hexdigest()[:16]
        self._folder = cache / "vectors" / name

    @property
    def identity(self) -> str:
        """That of the embedder behind it."""
        return self._embedder.identity

    def embed(self, text: str) -> Vector:
        """See `Embedder.embed`."""
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        path = self._folder / name[:2] / f"{name[2:]}.f32"
        if path.exists():
            vector = np.fromfile(path, np.float32)
            if vector.size and abs(float(vector @ vector) - 1.0) < 1e-3:
                return vector
        vector = self._embedder.embed(text)
        with whole_file(path) as partial:
            vector.tofile(partial)
        return vector
