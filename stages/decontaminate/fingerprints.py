"""Fingerprint files: where they lie, by which rules they were made, and whether we may use them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import StaleFingerprint
from pipeline.files import write_table
from pipeline.identity import file_digest
from pipeline.source.shape_blind import SHAPE_BLIND_VERSION
from pipeline.source.tokens import TOKENS_VERSION
from pipeline.tracing.rules import GRAPH_RULES
from schemas.benchmark import BENCHMARK, METADATA_KEY
from stages.decontaminate.embedders import embedder_identity
from stages.decontaminate.settings import DecontaminateSettings

FINGERPRINT_VERSION = 1
"""Bump when a column of the file changes its meaning."""


@dataclass(frozen=True)
class Provenance:
    """By which rules and from which commit a fingerprint file was made; its metadata."""

    benchmark: str
    commit: str
    problems: int
    traced: int  # problems whose graph could be traced
    fingerprint: int = FINGERPRINT_VERSION
    tokens: int = TOKENS_VERSION
    shape_blind: int = SHAPE_BLIND_VERSION
    graph: int = 0  # rules of pipeline.tracing.graph; 0 if nothing was traced
    tools: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, list[list[float]]] = field(default_factory=dict)
    """Embedder → vectors of a few fixed texts: the known answer asked for before each use."""

    @property
    def embedders(self) -> list[str]:
        return sorted(self.probes)


def fingerprint_path(data: Path, benchmark: str) -> Path:
    return data / "benchmarks" / f"{benchmark}.parquet"


def write_fingerprints(rows: Sequence[Mapping[str, object]], made: Provenance, path: Path) -> None:
    """Writes the file whole, with its provenance inside."""
    metadata = {METADATA_KEY: json.dumps(asdict(made), sort_keys=True).encode()}
    table = pa.Table.from_pylist(list(rows), schema=BENCHMARK).replace_schema_metadata(metadata)
    write_table(table, path)


def read_provenance(path: Path) -> Provenance:
    """What the file says about itself.

    Raises:
        StaleFingerprint: no such file, not a fingerprint file, or one of another version.
    """
    if not path.exists():
        raise StaleFingerprint(f"{path}: no fingerprints of this benchmark; {_remake(path.stem)}")
    try:
        notes = pq.read_schema(path).metadata or {}
        values = json.loads(notes[METADATA_KEY])
        return Provenance(**values)
    except (OSError, pa.ArrowInvalid, KeyError, ValueError, TypeError) as error:
        raise StaleFingerprint(
            f"{path}: not a fingerprint file of this version; {_remake(path.stem)}"
        ) from error


def check_provenance(made: Provenance, path: Path, embedder: str) -> None:
    """Nothing, if the file was made by the rules in force and has this embedder's vectors.

    Raises:
        StaleFingerprint: names the rule that differs and the command that makes the file anew.
    """
    for rule, ours, theirs in (
        ("fingerprint format", FINGERPRINT_VERSION, made.fingerprint),
        ("tokenizer scheme", TOKENS_VERSION, made.tokens),
        ("shape-blind form", SHAPE_BLIND_VERSION, made.shape_blind),
    ):
        if ours != theirs:
            raise StaleFingerprint(
                f"{path}: made with {rule} {theirs}, this version has {ours}; {_remake(path.stem)}"
            )
    if embedder not in made.probes:
        has = ", ".join(made.embedders) or "none"
        raise StaleFingerprint(
            f"{path}: has no vectors of embedder {embedder} (it has: {has}); {_remake(path.stem)}"
        )


def check_graph_rules(made: Provenance, path: Path) -> None:
    """Nothing, if the graphs were traced by the rules in force.

    Raises:
        StaleFingerprint: they were not.
    """
    if made.traced and made.graph != GRAPH_RULES:
        raise StaleFingerprint(
            f"{path}: made with graph rules {made.graph}, this version has {GRAPH_RULES}; "
            f"{_remake(path.stem)}"
        )


def identity(settings: DecontaminateSettings, data: Path) -> dict[str, str]:
    """What else decides the stage's result: the digests of the fingerprint files.

    Raises:
        StaleFingerprint: a file is missing or made by other rules; before any work is done.
    """
    embedder = embedder_identity(settings)
    digests = {"embedder": embedder}
    for benchmark in settings.benchmarks:
        path = fingerprint_path(data, benchmark)
        made = read_provenance(path)
        check_provenance(made, path, embedder)
        check_graph_rules(made, path)
        digests[benchmark] = file_digest(path)
    return digests


def _remake(benchmark: str) -> str:
    return f"run: kernelset fingerprint CHECKOUT --name {benchmark}"
