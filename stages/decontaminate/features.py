"""What the tiers look at, computed the same way for a benchmark problem and for a row."""

import ast

import numpy as np
import pyarrow as pa

from pipeline.source.canonical import ID_DIGITS, canonical_of, digest
from pipeline.source.shape_blind import form_of
from pipeline.source.tokens import hashed, token_set
from stages.decontaminate.embedders import Embedder
from stages.decontaminate.index import Features


def features_of(
    code: str,
    embedder: Embedder | None,
    *,
    problem_id: str | None = None,
    graph_sha256: str = "",
    ops: frozenset[str] = frozenset(),
) -> Features:
    """Features of a program's text; what was traced from it is given. Without embedder, no vector.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text can't be parsed.
        EmbeddingFailed: no usable vector.
    """
    tree = ast.parse(code)
    form = form_of(tree)  # first: the canonical form takes the bare strings out of the tree
    canonical = canonical_of(tree) if embedder or not problem_id else ""
    return Features(
        problem_id=problem_id or digest(canonical)[:ID_DIGITS],
        shape_blind_sha256=digest(form),
        tokens=hashed(token_set(code)),
        vector=embedder.embed(canonical) if embedder else None,
        graph_sha256=graph_sha256,
        ops=ops,
    )


def fingerprinted(table: pa.Table, embedder: str) -> dict[str, Features]:
    """The problems of a fingerprint file: name → features, with this embedder's vectors."""
    problems = {}
    for row in table.to_pylist():
        vectors = {item["embedder"]: item["vector"] for item in row["vectors"]}
        problems[row["problem"]] = Features(
            problem_id=row["problem_id"],
            shape_blind_sha256=row["shape_blind_sha256"],
            tokens=frozenset(row["tokens"]),
            vector=np.asarray(vectors[embedder], np.float32),
            graph_sha256=row["graph_sha256"] or "",
            ops=frozenset(item["op"] for item in row["ops"] or ()),
        )
    return problems
