"""Any sentence-transformers model, from a folder or the hub."""

import functools
import itertools
from typing import Any

from stages.decontaminate.embedders.base import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Vector,
    mean_of_windows,
    one_thread,
    window_ends,
)

_SPARE = 4  # tokens; a window's text, tokenised again, may break a word otherwise at its edges


class SentenceTransformerEmbedder:
    """A sentence-transformers model on this machine."""

    def __init__(
        self, identity: str, model: str, revision: str = "", allow_remote_code: bool = False
    ) -> None:
        """Remembers what to load; the weights are read at the first text."""
        self._identity = identity
        self._name = model
        self._revision = revision
        self._allow_remote_code = allow_remote_code

    @property
    def identity(self) -> str:
        """See `Embedder.identity`."""
        return self._identity

    def embed(self, text: str) -> Vector:
        """See `Embedder.embed`."""
        windows = self._windows(text)
        if not windows:
            raise EmbeddingFailed("the text has no token")
        with one_thread():
            vectors = [
                self._model.encode(window, convert_to_numpy=True, show_progress_bar=False)
                for window, _ in windows
            ]
        return mean_of_windows(vectors, [length for _, length in windows])

    def _windows(self, text: str) -> list[tuple[str, int]]:
        """Pieces of the text that the model can take whole, with their lengths in tokens."""
        tokenizer = self._model.tokenizer
        encoded = tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True,
            verbose=False,
        )  # fmt: skip
        spans = encoded["offset_mapping"]
        if not spans:
            return []
        starts = [start for start, _ in spans]
        breaks = [False] + [
            "\n" in text[spans[i - 1][1] : spans[i][0]] for i in range(1, len(spans))
        ]
        ends = window_ends(breaks, self._model.max_seq_length - 2 - _SPARE)
        cuts = [0, *ends]
        return [
            (text[starts[one] : spans[other - 1][1]], other - one)
            for one, other in itertools.pairwise(cuts)
        ]

    @functools.cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(
                self._name,
                device="cpu",
                revision=self._revision or None,
                trust_remote_code=self._allow_remote_code,
            )
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise EmbedderUnavailable(
                f"embedder {self._name}: can't be loaded ({reason})"
            ) from error
