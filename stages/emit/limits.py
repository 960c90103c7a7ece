"""What a release can't be trusted for, read from its rows: a limit is told where it holds only."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from pipeline.report.distances import Metric, threshold
from pipeline.report.reading import Release
from pipeline.report.times import devices

CALIBRATED_ELSEWHERE = "jina"  # the paper's embedder; every other has a threshold of our own


def limits(release: Release) -> list[str]:
    """One sentence a limit."""
    return [
        *_about_inputs(),
        *_about_difficulty(release.rows),
        *_about_distance(release),
        *_about_times(release),
        *_about_sandbox(release.rows),
        *_about_splits(release.rows),
    ]


def _about_inputs() -> Iterator[str]:
    yield (
        "Constructor arguments and input shapes are inferred, not the author's own; the columns "
        "`arguments` and `inputs` say from what. Weights are random."
    )


def _about_difficulty(rows: pa.Table) -> Iterator[str]:
    judges = Counter(rows["judge"].to_pylist())
    ruled = sum(count for judge, count in judges.items() if judge and judge.startswith("rules"))
    if ruled:
        yield (
            f"The level of {ruled:,} of {rows.num_rows:,} rows comes from rules over traced facts, "
            "not from an LLM or a person."
        )


def _about_distance(release: Release) -> Iterator[str]:
    embedders = sorted(set(filter(None, release.rows["embedder"].to_pylist())))
    for name in embedders:
        if not name.startswith(CALIBRATED_ELSEWHERE):
            yield (
                f"The embedding tier used `{name}`, with {_threshold(release, 'l2')}; that is not the "
                "0.45 of jina-embeddings-v3 and must not be compared with it."
            )
    yield (
        "Decontamination is against the named benchmarks only, and a paraphrase beyond all tiers "
        "can stay. Each row carries its distances, so that a stricter threshold needs no rerun."
    )


def _about_times(release: Release) -> Iterator[str]:
    kinds = devices(release)
    if kinds.empty or not (kinds["device_kind"] == "cuda").any():
        yield (
            "There is no GPU baseline in this release: its times are a CPU's, and no denominators "
            "for a reward."
        )
    untimed = int(kinds["not_ok"].sum()) if len(kinds) else 0
    if untimed:
        yield f"{untimed:,} measurements gave no stable time; their `status` says why."


def _about_sandbox(rows: pa.Table) -> Iterator[str]:
    levels = Counter(rows["sandbox_level"].to_pylist())
    told = ", ".join(f"`{name}` ({count:,})" for name, count in sorted(levels.items()))
    yield f"Programs were executed in a sandbox of level {told}. Run them in one of your own."


def _about_splits(rows: pa.Table) -> Iterator[str]:
    if "validation" not in rows["split"].to_pylist():
        yield "There is no validation split: no origin is small enough to be held out whole."


def _threshold(release: Release, metric: Metric) -> str:
    found = threshold(release, metric)
    return "its own calibrated threshold" if found is None else f"threshold {found:g}"
