"""The control of every run: copies that must be caught, planted before the first row is judged.

Three questions, each answered before any row can be called clean:
1. Does the embedder give the vectors it gave when the benchmark was fingerprinted?
2. Is every problem of the benchmark found by every tier when it comes back as it is?
3. Are edited copies of a few programs of our own caught, and unrelated ones let through?
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pipeline.errors import KernelsetError
from pipeline.source.canonical import problem_id
from pipeline.source.shape_blind import shape_blind_digest
from pipeline.source.tokens import hashed, token_set
from stages.decontaminate.controls import CONTROLS, UNRELATED
from stages.decontaminate.embedders import Embedder
from stages.decontaminate.features import features_of
from stages.decontaminate.fingerprints import Provenance
from stages.decontaminate.index import BenchmarkIndex, Features
from stages.decontaminate.planted import ALWAYS_CAUGHT, planted
from stages.decontaminate.settings import DecontaminateSettings
from stages.decontaminate.verdict import hits_of

PROBES = (
    "import torch\n\ndef forward(x):\n    return torch.relu(x)",
    "class Model(nn.Module):\n    def forward(self, x, w):\n        return x @ w.T",
    "def attention(q, k, v):\n    return softmax(q @ k.transpose(-2, -1)) @ v",
)
"""Texts whose vectors stand in the fingerprint file: the known answers."""

PROBE_L2 = 0.02
"""Largest drift of a known answer. Other hardware moves a vector by up to 0.008
(huggingface/sentence-transformers#3109); another model by far more."""


class ControlMissed(KernelsetError):
    """The check doesn't work: a planted copy went through, or a known answer changed."""


def probe_vectors(embedder: Embedder) -> list[list[float]]:
    """The known answers of an embedder, to be written into a fingerprint file."""
    return [[float(value) for value in embedder.embed(text)] for text in PROBES]


def check_known_answers(made: Provenance, path: Path, embedder: Embedder) -> None:
    """Nothing, if the embedder is the one that made the file. `embedder` must not be a cached one.

    Raises:
        ControlMissed: it gives other vectors, whatever its name says.
    """
    for text, expected in zip(PROBES, made.probes[embedder.identity], strict=True):
        found = embedder.embed(text)
        drift = (
            float(np.linalg.norm(found - np.asarray(expected, np.float32)))
            if len(found) == len(expected)
            else float("inf")
        )
        if drift > PROBE_L2:
            raise ControlMissed(
                f"{path}: embedder {embedder.identity} is {drift:.3f} (L2) away from its known "
                "answer; the weights or the software changed. "
                f"Run: kernelset fingerprint CHECKOUT --name {path.stem}"
            )


def check_recall(problems: Mapping[str, Features], settings: DecontaminateSettings) -> None:
    """Nothing, if every problem is found by every tier when it comes back unchanged.

    Raises:
        ControlMissed: names the problem and the tiers that missed it.
    """
    index = BenchmarkIndex(problems)
    for name, features in problems.items():
        hits = hits_of(index.nearest(features), settings.jaccard, settings.l2_threshold)
        expected = {"same_canonical", "same_shape_blind", "token_jaccard"}
        expected |= {"same_graph"} if features.graph_sha256 else set()
        expected |= {"embedding"} if settings.l2_threshold > 0 else set()
        missed = expected - {hit.tier for hit in hits}
        if missed:
            raise ControlMissed(
                f"decontaminate: {name} itself is not found by {', '.join(sorted(missed))}; "
                "the fingerprint file or the check is broken"
            )


def check_planted(embedder: Embedder, settings: DecontaminateSettings) -> None:
    """Nothing, if edited copies of our own programs are caught and unrelated ones are not.

    The copies get no vector, so that the text must give them away; the embedder is asked about
    those that are equal after canonicalisation.

    Raises:
        ControlMissed: names the program, the edit and the tier.
    """
    originals = {name: features_of(code, embedder) for name, code in CONTROLS.items()}
    index = BenchmarkIndex(originals)
    for name, code in CONTROLS.items():
        for kind in ALWAYS_CAUGHT:
            copy = _text_features(planted(code, kind))
            hits = hits_of(index.nearest(copy), settings.jaccard, l2=0.0)
            if "same_shape_blind" not in {hit.tier for hit in hits}:
                raise ControlMissed(f"decontaminate: a copy of {name} passes, edited by {kind!r}")
        commented = features_of(planted(code, "comments"), embedder)
        if index.nearest(commented).l2 > PROBE_L2:
            raise ControlMissed(
                f"decontaminate: {name} with other comments is far away for {embedder.identity}"
            )
    for name, code in UNRELATED.items():
        found = index.nearest(features_of(code, embedder))
        if found.same_canonical or found.same_shape_blind:
            raise ControlMissed(f"decontaminate: unrelated program {name!r} counts as a copy")


def _text_features(code: str) -> Features:
    return Features(
        problem_id=problem_id(code),
        shape_blind_sha256=shape_blind_digest(code),
        tokens=hashed(token_set(code)),
        vector=None,
    )
