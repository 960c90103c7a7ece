"""Embedders: a text in, a unit vector out. One small interface, four ways to fill it.

`minilm` needs nothing but the package registry; `jina-v3` is the paper's; `st:` is any
sentence-transformers model; `openai:` any compatible endpoint.

A text longer than the model's window is never cut off silently: it is split into windows, each is
embedded, and the mean (weighted by length) is brought back to unit length. Every window is encoded
alone, so that a vector depends on its text only and not on the batch it came in.
"""

from stages.decontaminate.embedders.base import Embedder, EmbeddingFailed, unit
from stages.decontaminate.embedders.choice import embedder_identity, open_embedder

__all__ = ["Embedder", "EmbeddingFailed", "embedder_identity", "open_embedder", "unit"]
