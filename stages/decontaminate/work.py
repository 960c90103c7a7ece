"""The work of the decontaminate stage: features of a row, the nearest problems, a verdict."""

import functools
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from pipeline.stage import Failed, Kept, Outcome, Row, Workplace
from stages.decontaminate.control import check_known_answers, check_planted, check_recall
from stages.decontaminate.embedders import Embedder, EmbeddingFailed, open_embedder
from stages.decontaminate.features import features_of, fingerprinted
from stages.decontaminate.fingerprints import (
    check_graph_rules,
    check_provenance,
    fingerprint_path,
    read_provenance,
)
from stages.decontaminate.index import BenchmarkIndex, Features, Nearest
from stages.decontaminate.settings import DecontaminateSettings
from stages.decontaminate.verdict import verdict


def decontaminate(
    rows: Sequence[Row], settings: DecontaminateSettings, workplace: Workplace
) -> list[list[Outcome]]:
    """One outcome per row; each row is compared alone, so the batch is no matter."""
    embedder = open_embedder(settings, workplace.cache)
    index = _checked_index(settings, workplace)
    read = [_features(row, embedder) for row in rows]
    nearest = iter(index.nearest_all([one for one in read if isinstance(one, Features)]))
    return [
        [_outcome(next(nearest), embedder, settings) if isinstance(one, Features) else one]
        for one in read
    ]


def _features(row: Row, embedder: Embedder) -> Features | Failed:
    code = row["code"]
    if not code or not code.strip():
        return Failed("empty_code", "there is no text to compare")
    try:
        return features_of(
            code,
            embedder,
            problem_id=row.get("problem_id"),
            graph_sha256=row.get("graph_sha256") or "",
            ops=frozenset(item["op"] for item in row.get("ops") or ()),
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        return Failed("unreadable_code", f"{type(trouble).__name__}: {trouble}")
    except EmbeddingFailed as trouble:
        return Failed("no_embedding", str(trouble))


def _outcome(nearest: Nearest, embedder: Embedder, settings: DecontaminateSettings) -> Outcome:
    found = verdict(nearest, settings)
    if isinstance(found, Kept):
        return Kept({"embedder": embedder.identity, **found.columns})
    return found


def _checked_index(settings: DecontaminateSettings, workplace: Workplace) -> BenchmarkIndex:
    stamps = tuple(
        (path, path.stat().st_mtime_ns if path.exists() else 0)
        for path in (fingerprint_path(workplace.data, name) for name in settings.benchmarks)
    )
    return _open_index(settings, workplace.cache, stamps)


@functools.lru_cache(maxsize=4)
def _open_index(
    settings: DecontaminateSettings, cache: Path, stamps: tuple[tuple[Path, int], ...]
) -> BenchmarkIndex:
    """The index over the recipe's benchmarks, after it has proved that it catches planted copies.

    Once per process: the files' times are part of the key only so that a new file is noticed.
    """
    embedder = open_embedder(settings, cache)
    problems = {}
    for path, _ in stamps:
        made = read_provenance(path)
        check_provenance(made, path, embedder.identity)
        check_graph_rules(made, path)
        check_known_answers(made, path, open_embedder(settings))
        problems |= fingerprinted(pq.read_table(path), embedder.identity)
    check_recall(problems, settings)
    check_planted(embedder, settings)
    return BenchmarkIndex(problems)
