"""jina-embeddings-v3: the paper's embedder, through transformers' native class and peft.

Weights: CC-BY-NC-4.0. The native checkpoint keeps its five task adapters in subfolders with
underscores; pooling, adapter choice and normalisation are ours (components.md, section 4).
"""

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from stages.decontaminate.embedders.base import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Vector,
    mean_of_windows,
    one_thread,
    window_ends,
)

MODEL_TYPE = "jina_embeddings_v3"
LONGEST_WINDOW = 8192  # tokens, specials included
_PROBE = "def forward(self, x): return torch.relu(x)"


class JinaV3:
    """The native class, on the CPU or, where there is one, the GPU."""

    def __init__(self, identity: str, model: str, revision: str, task: str) -> None:
        """`model`: a local folder or a hub id; `task`: with a dot or hyphen, as jina writes it."""
        self._identity = identity
        self._name = model
        self._revision = revision or None
        self._adapter = task.replace(".", "_").replace("-", "_")

    @property
    def identity(self) -> str:
        """See `Embedder.identity`."""
        return self._identity

    def embed(self, text: str) -> Vector:
        """See `Embedder.embed`."""
        tokenizer = self._loaded[0]
        encoded = tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True,
            verbose=False,
        )  # fmt: skip
        ids, spans = encoded["input_ids"], encoded["offset_mapping"]
        if not ids:
            raise EmbeddingFailed("the text has no token")
        breaks = [False] + [
            "\n" in text[spans[i - 1][1] : spans[i][1]] for i in range(1, len(spans))
        ]
        cuts = [0, *window_ends(breaks, self._window() - 2)]
        pieces = [ids[one:other] for one, other in itertools.pairwise(cuts)]
        with one_thread():
            vectors = [self._mean_hidden(piece) for piece in pieces]
        return mean_of_windows(vectors, [len(piece) for piece in pieces])

    def _window(self) -> int:
        tokenizer, _ = self._loaded
        return int(min(LONGEST_WINDOW, tokenizer.model_max_length))

    def _mean_hidden(self, ids: list[int]) -> Any:
        """Mean of the last hidden states, in float32, the special tokens included as jina does."""
        import torch

        tokenizer, model = self._loaded
        whole = [tokenizer.bos_token_id, *ids, tokenizer.eos_token_id]
        given = torch.tensor([whole], device=model.device)
        hidden = model(input_ids=given, attention_mask=torch.ones_like(given)).last_hidden_state
        return hidden.float().mean(dim=1)[0].cpu().numpy()

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model with the task's adapter on, proved to be on."""
        import torch
        from peft import PeftModel
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        where: dict[str, Any] = {"revision": self._revision}
        if Path(self._name).is_dir():
            where = {"local_files_only": True}
        try:
            config = AutoConfig.from_pretrained(self._name, trust_remote_code=False, **where)
            if config.model_type != MODEL_TYPE:
                # Without its own code an old checkpoint loads as another architecture, silently.
                raise EmbedderUnavailable(
                    f"embedder {self._name}: is a {config.model_type!r}, not {MODEL_TYPE!r}; "
                    "use the native checkpoint jinaai/jina-embeddings-v3-hf"
                )
            tokenizer = AutoTokenizer.from_pretrained(self._name, **where)
            base = AutoModel.from_pretrained(
                self._name, trust_remote_code=False, add_pooling_layer=False, **where
            )
            # PeftModel and not base.load_adapter: the latter breaks with transformers 5.24.
            model = PeftModel.from_pretrained(
                base, self._name, subfolder=self._adapter, adapter_name=self._adapter, **where
            ).eval()
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise EmbedderUnavailable(
                f"embedder {self._name}: can't be loaded with adapter {self._adapter} ({reason})"
            ) from error
        model.set_adapter(self._adapter)
        if torch.cuda.is_available():
            model = model.to("cuda")
        self._check_adapter(tokenizer, model)
        return tokenizer, model

    def _check_adapter(self, tokenizer: Any, model: Any) -> None:
        """An adapter that changes nothing was not applied: known to happen without an error."""
        import torch

        given = tokenizer(_PROBE, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            adapted = model(**given).last_hidden_state
            with model.disable_adapter():
                plain = model(**given).last_hidden_state
        if np.allclose(adapted.float().cpu().numpy(), plain.float().cpu().numpy(), atol=1e-6):
            raise EmbedderUnavailable(
                f"embedder {self._name}: adapter {self._adapter} changes no vector; it is not loaded"
            )
