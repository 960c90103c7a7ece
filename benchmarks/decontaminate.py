"""Speed and quality of decontamination and dedupe, beside what people use instead.

    python benchmarks/decontaminate.py --rows 20000 [--checkout KERNELBENCH]

Rows are programs of data/examples and our control programs, each renamed at random so that no two
are equal. With a checkout, recall on planted copies is measured for us and for an n-gram script in
the manner of open-r1 (any shared 8-gram of words condemns), and for token-set Jaccard by LSH alone.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipeline.source.canonical import problem_id
from pipeline.source.tokens import token_set
from stages.decontaminate.controls import CONTROLS, UNRELATED
from stages.decontaminate.embedders import embedder_identity
from stages.decontaminate.features import features_of, fingerprinted
from stages.decontaminate.index import BenchmarkIndex, Features
from stages.decontaminate.planted import CHAINS, EDITS, NothingToEdit, planted
from stages.decontaminate.settings import DecontaminateSettings
from stages.decontaminate.verdict import hits_of
from stages.dedupe import STAGE as DEDUPE

DATA = Path(__file__).resolve().parent.parent / "data"
SETTINGS = DecontaminateSettings()
NGRAM = 8


def main() -> None:
    """Prints one JSON object per measurement. Seconds are of one core, others may share it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--checkout", default="")
    chosen = arguments.parse_args()
    codes = list(programs(chosen.rows))
    index = kernelbench_index()
    for name, work in speed(codes, index):
        started = time.process_time()
        work()
        seconds = time.process_time() - started
        report(measure=name, rows=len(codes), cpu_s=round(seconds, 2),
               rows_per_s=round(len(codes) / seconds))  # fmt: skip
    if chosen.checkout:
        recall(chosen.checkout, index)


def speed(
    codes: Sequence[str], index: BenchmarkIndex
) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed, on one core."""
    features: list[Features] = []
    yield (
        "text features (canonical, shape-blind, tokens)",
        lambda: features.extend(features_of(code, None) for code in codes),
    )
    yield "tiers a-c on given features", lambda: [index.nearest(row) for row in features]
    vectors = np.random.default_rng(0).normal(size=(len(codes), 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    yield "L2 tier on given vectors", lambda: [index.nearest_vector(v) for v in vectors]
    rows = [
        {"problem_id": problem_id(code), "code": code, "licence": "MIT", "source_name": str(n % 50),
         "path": str(n), "line_start": 1}
        for n, code in enumerate(codes)
    ]  # fmt: skip
    yield (
        "dedupe, whole stage",
        lambda: DEDUPE.work(rows, DEDUPE.settings(guard_from_rows=10**9), None),
    )


def recall(checkout: str, index: BenchmarkIndex) -> None:
    """Text alone, nothing traced or embedded: ours beside an n-gram script and LSH alone."""
    from stages.decontaminate.fingerprint import read_problems

    problems = read_problems(checkout)
    grams = set().union(*(ngrams(problem.code) for problem in problems))
    lsh = LshAlone([problem.code for problem in problems])
    judges: dict[str, Callable[[str], bool]] = {
        "kernelset, text tiers": lambda code: bool(
            hits_of(index.nearest(features_of(code, None)), SETTINGS.jaccard, 0.0)
        ),
        "8-gram overlap (open-r1)": lambda code: bool(ngrams(code) & grams),
        "LSH at 0.8 alone": lsh,
    }
    copies = []
    for problem in problems:
        for kind in [*EDITS, *CHAINS]:
            try:
                copies.append(planted(problem.code, kind))
            except NothingToEdit:
                continue
    others = [*UNRELATED.values(), *CONTROLS.values()]
    for name, judge in judges.items():
        started = time.process_time()
        found = sum(judge(code) for code in copies)
        seconds = time.process_time() - started
        report(measure=f"recall: {name}", copies=len(copies), recall=round(found / len(copies), 4),
               false_removals=sum(judge(code) for code in others) / len(others),
               cpu_s=round(seconds, 2))  # fmt: skip


class LshAlone:
    """MinHash LSH at the very threshold, nothing verified: what most scripts do."""

    def __init__(self, codes: Sequence[str]) -> None:
        """Indexes the programs."""
        from datasketch import MinHashLSH

        self.index = MinHashLSH(threshold=0.8, num_perm=128)
        for place, code in enumerate(codes):
            self.index.insert(str(place), self.sketch(code))

    def __call__(self, code: str) -> bool:
        """Whether any program collides."""
        return bool(self.index.query(self.sketch(code)))

    @staticmethod
    def sketch(code: str) -> object:
        """MinHash of the token set."""
        from datasketch import MinHash

        sketch = MinHash(num_perm=128)
        sketch.update_batch([token.encode() for token in token_set(code)])
        return sketch


def ngrams(code: str) -> set[tuple[str, ...]]:
    """Word 8-grams of the lower-cased text."""
    words = re.sub(r"[^\w\s]", " ", code.lower()).split()
    return {tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}


def programs(count: int) -> Iterator[str]:
    """Distinct programs of ordinary size."""
    texts = [path.read_text() for path in sorted((DATA / "examples").glob("*.py"))]
    texts += [*CONTROLS.values(), *UNRELATED.values()]
    rng = random.Random(0)
    for number in range(count):
        text = texts[number % len(texts)]
        words = {word: f"{word}{rng.randrange(50)}" for word in ("self", "weight", "hidden", "x")}
        for word, other in words.items():
            text = re.sub(rf"\b{word}\b", other, text)
        yield text + f"\nSEED_{number} = {number}\n"


def kernelbench_index() -> BenchmarkIndex:
    """The committed fingerprints."""
    table = pq.read_table(DATA / "benchmarks" / "kernelbench.parquet")
    return BenchmarkIndex(fingerprinted(table, embedder_identity(SETTINGS)))


def report(**values: object) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
