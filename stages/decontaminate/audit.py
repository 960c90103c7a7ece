"""How contaminated is a dataset, anyone's? The result can be explored without recomputing.

from stages.decontaminate.audit import audit
found = audit("kernelbook.parquet", benchmarks=["kernelbench"])
print(found.verdict())
found.hits()                         # one row per program within reach, as a DataFrame
found.least_similar(10)              # the hits nearest to being innocent
found.rethreshold(jaccard=0.9)       # the same numbers, judged anew
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from pipeline.errors import UsageError
from pipeline.spread import spread
from stages.decontaminate.control import check_known_answers, check_planted, check_recall
from stages.decontaminate.embedders import Embedder, EmbeddingFailed, open_embedder
from stages.decontaminate.features import features_of, fingerprinted
from stages.decontaminate.fingerprint import Traced
from stages.decontaminate.fingerprints import (
    check_graph_rules,
    check_provenance,
    fingerprint_path,
    read_provenance,
)
from stages.decontaminate.index import BenchmarkIndex, Features, Nearest
from stages.decontaminate.reading import Program, read_programs
from stages.decontaminate.settings import TIERS, DecontaminateSettings
from stages.decontaminate.verdict import Hit, hits_of

if TYPE_CHECKING:
    import pandas as pd

_BATCH = 1024


@dataclass(frozen=True, slots=True)
class Audited:
    """One program of the dataset: what it is nearest to, or why that could not be told."""

    name: str
    code: str  # empty where it is far from everything: a million texts would fill the memory
    nearest: Nearest | None
    failure: str = ""
    traced: bool = False


@dataclass(frozen=True)
class Audit:
    """A dataset compared with held-out benchmarks."""

    dataset: str
    benchmarks: tuple[str, ...]
    embedder: str  # empty: the embedding tier was left out
    programs: Sequence[Audited]
    jaccard: float
    l2: float
    traced: bool = False  # whether programs were executed in the sandbox, for the graph tier

    def hits_of(self, program: Audited) -> list[Hit]:
        """The tiers by which a program is within reach."""
        return hits_of(program.nearest, self.jaccard, self.l2) if program.nearest else []

    def contaminated(self) -> list[tuple[Audited, list[Hit]]]:
        """The programs within reach with their hits, in the dataset's order."""
        found = ((program, self.hits_of(program)) for program in self.programs)
        return [(program, hits) for program, hits in found if hits]

    def failed(self) -> list[Audited]:
        """The programs that could not be compared; they are not clean."""
        return [program for program in self.programs if program.nearest is None]

    def not_clean(self) -> int:
        """Programs that can't be called clean: within reach, or not compared."""
        return len(self.contaminated()) + len(self.failed())

    def hits(self) -> "pd.DataFrame":
        """One row per program within reach, with all evidence."""
        import pandas as pd

        rows = []
        for program, hits in self.contaminated():
            nearest = program.nearest
            assert nearest is not None
            rows.append(
                {
                    "name": program.name,
                    "reason": hits[0].tier,
                    "matched_id": hits[0].problem,
                    **{tier: next((h.problem for h in hits if h.tier == tier), None) for tier in TIERS},
                    "jaccard": nearest.jaccard,
                    "jaccard_problem": nearest.jaccard_problem,
                    "l2": nearest.l2,
                    "cosine": nearest.cosine,
                    "l2_problem": nearest.l2_problem,
                }
            )  # fmt: skip
        columns = ["name", "reason", "matched_id", *TIERS, "jaccard", "jaccard_problem",
                   "l2", "cosine", "l2_problem"]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def least_similar(self, count: int = 10) -> "pd.DataFrame":
        """Of the hits that rest on a threshold alone, those nearest to it: read these first."""
        hits = self.hits()
        same = ["same_canonical", "same_shape_blind", "same_graph"]
        measured = hits[hits[same].isna().all(axis=1)]
        margin = (measured["jaccard"] - self.jaccard).clip(lower=0)
        margin = margin.combine((self.l2 - measured["l2"]).clip(lower=0), max)
        return measured.loc[margin.sort_values().index[:count]]

    def rethreshold(self, jaccard: float | None = None, l2: float | None = None) -> "Audit":
        """The same comparison, judged at other thresholds."""
        return replace(
            self,
            jaccard=self.jaccard if jaccard is None else jaccard,
            l2=self.l2 if l2 is None else l2,
        )

    def verdict(self) -> str:
        """A few lines for a person."""
        found = self.contaminated()
        total, failed = len(self.programs), len(self.failed())
        share = len(found) / total if total else 0.0
        touched = {hit.problem for _, hits in found for hit in hits}
        by_tier = Counter(hit.tier for _, hits in found for hit in hits)
        tiers = ", ".join(f"{tier} {by_tier[tier]:,}" for tier in TIERS if by_tier[tier]) or "none"
        return "\n".join(
            [
                f"{self.dataset} against {', '.join(self.benchmarks)}",
                f"{len(found):,} of {total:,} programs are within reach ({share:.1%}); "
                f"{failed:,} could not be compared",
                f"{len(touched):,} benchmark problems are touched",
                f"by tier: {tiers}",
                self._means(),
            ]
        )

    def _means(self) -> str:
        far = (
            f", l2 < {self.l2:g} by {self.embedder}" if self.embedder else "; no embedder was asked"
        )
        traced = sum(program.traced for program in self.programs)
        graphs = f"{traced:,} of {len(self.programs):,} traced" if self.traced else "not traced"
        return f"thresholds: jaccard > {self.jaccard:g}{far}; graphs: {graphs}"


def audit(
    dataset: str,
    benchmarks: Sequence[str] = ("kernelbench",),
    *,
    column: str = "",
    data: Path = Path("data"),
    settings: DecontaminateSettings | None = None,
    embed: bool = True,
    cache: Path | None = None,
    trace: Callable[[str], Traced] | None = None,
    workers: int = 1,
) -> Audit:
    """Compares every program of a dataset with held-out benchmarks.

    Nothing is executed, unless `trace` does.

    Args:
        dataset: see `stages.decontaminate.reading.read_programs`.
        benchmarks: names of fingerprint files in data/benchmarks/.
        column: the column of the program, if its name doesn't say so.
        data: the project's data folder.
        settings: thresholds and embedder; the local recipe's by default.
        embed: without it the embedding tier is left out, and the audit is fifty times faster.
        cache: where vectors are remembered.
        trace: what a program computes, e.g. `stages.decontaminate.fingerprint.trace_program`, which
            executes it in the sandbox. Programs that are not in KernelBench's format (`Model`,
            `get_inputs`, `get_init_inputs`) can't be traced; the other tiers still hold for them.
        workers: processes that read the texts, where neither `embed` nor `trace` is asked for. The
            result is the same. They are started by `spawn`: a script needs its `__main__` guard.

    Raises:
        UsageError: the dataset can't be read or holds no program.
        StaleFingerprint: the fingerprints were made by other rules.
        ControlMissed: the check does not catch planted copies.
    """
    settings = settings or DecontaminateSettings()
    settings = settings.model_copy(update={"benchmarks": tuple(benchmarks)})
    embedder = open_embedder(settings, cache)
    index = _index(settings, data, embedder, embed, graphs=trace is not None)
    asked = embedder if embed else None
    found = _compared(read_programs(dataset, column), index, asked, trace, workers)
    programs = list(found)
    if not programs:
        raise UsageError(f"{dataset}: holds no row")
    return Audit(
        dataset=dataset,
        benchmarks=settings.benchmarks,
        embedder=embedder.identity if embed else "",
        programs=programs,
        jaccard=settings.jaccard,
        l2=settings.l2_threshold,
        traced=trace is not None,
    )


def _index(
    settings: DecontaminateSettings, data: Path, embedder: Embedder, embed: bool, graphs: bool
) -> BenchmarkIndex:
    problems = {}
    for name in settings.benchmarks:
        path = fingerprint_path(data, name)
        made = read_provenance(path)
        check_provenance(made, path, embedder.identity)
        if graphs:
            check_graph_rules(made, path)
        if embed:
            check_known_answers(made, path, open_embedder(settings))
        problems |= fingerprinted(pq.read_table(path), embedder.identity)
    check_recall(problems, settings)
    if embed:
        check_planted(embedder, settings)
    return BenchmarkIndex(problems)


def _compared(
    programs: Iterator[Program],
    index: BenchmarkIndex,
    embedder: Embedder | None,
    trace: Callable[[str], Traced] | None,
    workers: int,
) -> Iterator[Audited]:
    """Each program beside the benchmark, in order; never more than a few batches in memory."""
    mine, theirs = itertools.tee(programs)
    codes = (program.code for program in theirs)
    if embedder is None and trace is None:
        read = spread(read_text, codes, processes=workers)
    else:
        read = (_read(code, embedder, trace) for code in codes)
    pairs = zip(mine, read, strict=True)
    while some := list(itertools.islice(pairs, _BATCH)):
        features = [seen for _, seen in some if isinstance(seen, Features)]
        nearest = iter(index.nearest_all(features))
        for program, seen in some:
            if isinstance(seen, Features):
                found = next(nearest)
                text = program.code or "" if _worth_showing(found) else ""
                yield Audited(program.name, text, found, traced=bool(seen.graph_sha256))
            else:
                yield Audited(program.name, "", None, seen)


def read_text(code: str | None) -> Features | str:
    """What the text tiers look at, or why there is nothing."""
    return _read(code, None, None)


def _read(
    code: str | None, embedder: Embedder | None, trace: Callable[[str], Traced] | None
) -> Features | str:
    if code is None or not code.strip():
        return "no program in this row"
    try:
        seen = trace(code) if trace else Traced()
        graph = seen.graph_sha256 or ""
        ops = frozenset(item["op"] for item in seen.ops or ())
        return features_of(code, embedder, graph_sha256=graph, ops=ops)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        return f"{type(trouble).__name__}: {trouble}"
    except EmbeddingFailed as trouble:
        return f"no embedding: {trouble}"


def _worth_showing(nearest: Nearest) -> bool:
    """Whether its text is kept: some threshold that makes sense would remove it."""
    return bool(hits_of(nearest, jaccard=0.5, l2=1.0))


def problem_texts(checkouts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Benchmark programs of the user's own checkouts, for side-by-side reading: name → text."""
    from stages.decontaminate.fingerprint import read_problems

    return {
        f"{name}/{problem.level}/{problem.number}": problem.code
        for name, checkout in checkouts
        for problem in read_problems(checkout)
    }
