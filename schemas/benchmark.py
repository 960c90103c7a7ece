"""`benchmark`: fingerprints of held-out benchmark problems. No code is inside, only digests.

The file's metadata (key `kernelset.fingerprint`, JSON) says by which rules it was made; a file made
by other rules is refused, see `stages/decontaminate/fingerprints.py`.
"""

import pyarrow as pa

from schemas.columns import column, integer, list_of, table, text

VECTORS = list_of(embedder=text, vector=pa.list_(pa.float32()))

BENCHMARK = table(
    [
        column("problem", text, "benchmark/level/number, e.g. kernelbench/1/19"),
        column("level", integer, "the benchmark's own level; 0 where it has none"),
        column("number", integer, "the problem's number within its level"),
        column("name", text, "the problem's name, from its file"),
        column("problem_id", text, "digest of the canonical form: 32 hex digits"),
        column("shape_blind_sha256", text, "digest of the shape-blind form"),
        column("tokens", pa.list_(pa.uint64()), "hashes of the distinct tokens, sorted"),
        column("graph_sha256", text, "traced computation without shapes", nullable=True),
        column(
            "ops", list_of(op=text, count=integer), "ATen operations of one forward", nullable=True
        ),
        column("vectors", VECTORS, "unit vectors of the canonical code, one per embedder"),
    ]
)

METADATA_KEY = b"kernelset.fingerprint"
