"""An OpenAI-compatible embeddings endpoint."""

import functools
import os
from typing import Any

import numpy as np

from stages.decontaminate.embedders.base import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Vector,
    mean_of_windows,
)

WINDOW_LETTERS = 6000
"""Letters per request: about 2,000 tokens of code. We can't see the endpoint's tokenizer, and many
cut off longer texts without a word."""
_RETRIES = 4
_TIMEOUT_S = 60.0


class OpenAIEndpoint:
    """One text a request, so that a vector never depends on its neighbours."""

    def __init__(self, identity: str, model: str, base_url: str) -> None:
        """`base_url`: empty for OPENAI_BASE_URL or the public endpoint."""
        self._identity = identity
        self._model = model
        self._base_url = base_url or None

    @property
    def identity(self) -> str:
        """See `Embedder.identity`."""
        return self._identity

    def embed(self, text: str) -> Vector:
        """See `Embedder.embed`."""
        windows = _windows(text)
        if not windows:
            raise EmbeddingFailed("the text has no letter")
        return mean_of_windows([self._ask(w) for w in windows], [len(w) for w in windows])

    def _ask(self, text: str) -> Any:
        import openai

        try:
            answer = self._client.embeddings.create(
                model=self._model, input=[text], encoding_format="float"
            )
        except openai.OpenAIError as error:
            raise EmbeddingFailed(f"endpoint: {type(error).__name__}: {error}") from error
        if len(answer.data or ()) != 1 or not answer.data[0].embedding:
            raise EmbeddingFailed(f"endpoint: {len(answer.data or ())} vectors for one text")
        return np.asarray(answer.data[0].embedding, np.float64)

    @functools.cached_property
    def _client(self) -> Any:
        import openai

        try:
            return openai.OpenAI(
                base_url=self._base_url,
                api_key=os.environ.get("OPENAI_API_KEY") or ("none" if self._base_url else None),
                max_retries=_RETRIES,
                timeout=_TIMEOUT_S,
            )
        except openai.OpenAIError as error:
            raise EmbedderUnavailable(
                f"embedder openai:{self._model}: {error}; set OPENAI_API_KEY or "
                "decontaminate.base_url"
            ) from error


def _windows(text: str) -> list[str]:
    """Whole lines together, up to the limit; a longer line is cut."""
    windows: list[str] = []
    current = ""
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), WINDOW_LETTERS):
            piece = line[start : start + WINDOW_LETTERS]
            if len(current) + len(piece) > WINDOW_LETTERS:
                windows.append(current)
                current = ""
            current += piece
    return [window for window in [*windows, current] if window.strip()]
