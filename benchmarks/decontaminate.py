"""Speed and quality of decontamination and dedupe, beside what people use instead.

    python -m benchmarks.decontaminate [--rows N] [--prepared N]
    python -m benchmarks.decontaminate --checkout KERNELBENCH --negatives DATASET --peers FOLDER

Speed: rows are programs of data/examples and our control programs, each renamed at random so that no
two are equal. `--rows` of them go through the product from their text; `--prepared` ones come as
forms and tokens in Parquet, and are compared with the 270 problems by tiers a to c.

Quality, with a checkout: planted copies of its problems, and programs that must stay, are put to our
text tiers, to token-set MinHash LSH alone, to an n-gram script in the manner of open-r1 (any shared
8-gram of words condemns), and to semhash, where FOLDER (the site-packages of an environment that has
it) is given. semhash's own model is on a hub; here it gets MiniLM, at its own threshold of 0.9.
"""

import argparse
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipeline.source.canonical import problem_id
from pipeline.source.tokens import token_set
from pipeline.spread import spread
from stages.decontaminate.audit import audit
from stages.decontaminate.controls import CONTROLS, UNRELATED
from stages.decontaminate.embedders import embedder_identity
from stages.decontaminate.features import features_of, fingerprinted
from stages.decontaminate.index import BenchmarkIndex, Features
from stages.decontaminate.planted import CHAINS, EDITS, NothingToEdit, planted
from stages.decontaminate.reading import read_programs
from stages.decontaminate.settings import DecontaminateSettings
from stages.decontaminate.verdict import hits_of
from stages.dedupe import STAGE as DEDUPE

DATA = Path(__file__).resolve().parent.parent / "data"
SETTINGS = DecontaminateSettings()
NGRAM = 8
GROUP = 4096  # rows a message, where they come prepared
PROCESSES = len(os.sched_getaffinity(0))

Judge = Callable[[Sequence[str]], list[bool]]


def main() -> None:
    """Prints one JSON object per measurement."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--prepared", type=int, default=100_000)
    arguments.add_argument("--checkout", default="")
    arguments.add_argument("--every", type=int, default=1, help="take every n-th problem")
    arguments.add_argument("--negatives", default=str(DATA / "examples"))
    arguments.add_argument("--peers", default="")
    chosen = arguments.parse_args()
    if chosen.checkout:
        quality(chosen.checkout, chosen.every, chosen.negatives, chosen.peers)
    else:
        speed(chosen.rows, chosen.prepared)


def speed(count: int, prepared: int) -> None:
    """Seconds by the clock, with all cores, unless the name says one core."""
    with tempfile.TemporaryDirectory() as folder:
        codes = list(programs(count))
        path = Path(folder) / "programs.jsonl"
        path.write_text("\n".join(json.dumps({"code": code}) for code in codes))
        timed(
            "tiers a-c from text (audit)",
            count,
            lambda: audit(str(path), data=DATA, embed=False, workers=PROCESSES),
            letters=round(sum(map(len, codes)) / count),
        )
        features = [features_of(code, None) for code in codes[:2000]]
        forms = Path(folder) / "forms.parquet"
        write_forms(forms, features, prepared)
        groups = [(str(forms), number) for number in range(-(-prepared // GROUP))]
        timed(
            "tiers a-c on prepared forms",
            prepared,
            lambda: sum(spread(near_copies, groups, processes=PROCESSES, chunk=1)),
        )
    index = kernelbench_index()
    vectors = np.random.default_rng(0).normal(size=(100_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    timed("L2 tier on given vectors", len(vectors), lambda: index.nearest_vectors(vectors))
    rows = [
        {"problem_id": problem_id(code), "code": code, "licence": "MIT", "source_name": str(n % 50),
         "path": str(n), "line_start": 1}
        for n, code in enumerate(codes)
    ]  # fmt: skip
    settings = DEDUPE.settings(guard_from_rows=10**9)
    timed("dedupe, whole stage from text", count, lambda: DEDUPE.work(rows, settings, None))


def timed(measure: str, rows: int, work: Callable[[], object], **more: object) -> None:
    """Does the work and reports it: time by the clock, seconds of processors, largest memory so far.

    Where the machine is busy with other things, the clock says little: compare the processors'.
    """
    started, before = time.perf_counter(), os.times()
    work()
    seconds, after = time.perf_counter() - started, os.times()
    cpu = sum(after[:4]) - sum(before[:4])  # ours and our children's, user and system
    ours, theirs = (
        resource.getrusage(who).ru_maxrss / 2**20
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    report(measure=measure, rows=rows, seconds=round(seconds, 2), rows_per_s=round(rows / seconds),
           cpu_s=round(cpu, 2), rows_per_cpu_s=round(rows / cpu), processes=PROCESSES,
           gb=round(ours, 2), gb_a_child=round(theirs, 2), load=round(os.getloadavg()[0], 1),
           **more)  # fmt: skip


def write_forms(path: Path, features: Sequence[Features], count: int) -> None:
    """Rows with the features of real programs, each with three tokens of its own."""
    schema = pa.schema(
        {"problem_id": pa.string(), "form": pa.string(), "tokens": pa.list_(pa.uint64())}
    )
    tokens = [sorted(one.tokens) for one in features]
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, GROUP):
            numbers = range(start, min(start + GROUP, count))
            own = [[n, n + 10**9, n + 2 * 10**9] for n in numbers]
            columns = [
                [f"{n:032x}" for n in numbers],
                [f"{n:064x}" for n in numbers],
                [
                    tokens[n % len(tokens)][3:] + three
                    for n, three in zip(numbers, own, strict=True)
                ],
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)


def near_copies(group: tuple[str, int]) -> int:
    """Rows of a row group that tiers a to c would remove."""
    path, number = group
    table = pq.ParquetFile(path).read_row_group(number)
    columns = (table.column(name).to_pylist() for name in table.column_names)
    rows = [Features(i, f, frozenset(t), None) for i, f, t in zip(*columns, strict=True)]
    nearest = kernelbench_index().nearest_all(rows)
    return sum(bool(hits_of(one, SETTINGS.jaccard, 0.0)) for one in nearest)


def quality(checkout: str, every: int, negatives: str, peers: str) -> None:
    """Text alone, nothing traced: who finds the copies, and who condemns what must stay."""
    from stages.decontaminate.fingerprint import read_problems

    problems = [problem.code for problem in read_problems(checkout)]
    index = kernelbench_index()
    copies = [copy for code in problems[::every] for copy in all_copies(code)]
    others = [*UNRELATED.values(), *CONTROLS.values()]
    others += [program.code for program in read_programs(negatives) if program.code]
    seen = index.nearest_all([features_of(code, None) for code in others])
    stay = [c for c, n in zip(others, seen, strict=True) if not n.same_shape_blind]
    report(measure="quality", copies=len(copies), must_stay=len(stay),
           put_aside_as_copies=len(others) - len(stay), load=os.getloadavg()[0])  # fmt: skip
    for name, prepare in judges(problems, index, peers).items():
        judge = prepare()
        started = time.process_time()
        found = sum(judge(copies))
        seconds = time.process_time() - started
        report(judge=name, recall=round(found / len(copies), 4),
               false_removals=round(sum(judge(stay)) / len(stay), 4),
               cpu_s=round(seconds, 2), copies_per_cpu_s=round(len(copies) / seconds))  # fmt: skip


def judges(
    problems: Sequence[str], index: BenchmarkIndex, peers: str
) -> dict[str, Callable[[], Judge]]:
    """Name → makes the judge, outside the time that is taken."""

    def ours() -> Judge:
        def judge(codes: Sequence[str]) -> list[bool]:
            nearest = index.nearest_all([features_of(code, None) for code in codes])
            return [bool(hits_of(one, SETTINGS.jaccard, 0.0)) for one in nearest]

        return judge

    def grams() -> Judge:
        known = set().union(*map(ngrams, problems))
        return lambda codes: [bool(ngrams(code) & known) for code in codes]

    def lsh() -> Judge:
        from datasketch import MinHashLSH

        table = MinHashLSH(threshold=0.8, num_perm=128)
        for place, code in enumerate(problems):
            table.insert(str(place), sketch(code))
        return lambda codes: [bool(table.query(sketch(code))) for code in codes]

    found: dict[str, Callable[[], Judge]] = {
        "kernelset, text tiers": ours,
        "8-gram overlap (open-r1)": grams,
        "LSH at 0.8 alone (datasketch)": lsh,
    }
    if peers:
        sys.path.append(peers)  # last: what both environments have comes from ours
        found["semhash at 0.9, MiniLM"] = lambda: semhash(problems)
    return found


def semhash(problems: Sequence[str]) -> Judge:
    """semhash's `deduplicate` across two sets."""
    from semhash import SemHash
    from sentence_transformers import SentenceTransformer

    from stages.decontaminate.embedders.choice import _minilm_folder

    model = SentenceTransformer(str(_minilm_folder()), device="cpu")
    fitted = SemHash.from_records(list(dict.fromkeys(problems)), model=model)

    def judge(codes: Sequence[str]) -> list[bool]:
        stays = set(fitted.deduplicate(list(codes)).selected)
        return [code not in stays for code in codes]

    return judge


def all_copies(code: str) -> Iterator[str]:
    """One copy by each edit and chain that applies."""
    for kind in [*EDITS, *CHAINS]:
        try:
            yield planted(code, kind)
        except NothingToEdit:
            continue


def sketch(code: str) -> object:
    """MinHash of the token set, nothing verified afterwards: what most scripts do."""
    from datasketch import MinHash

    made = MinHash(num_perm=128)
    made.update_batch([token.encode() for token in token_set(code)])
    return made


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


@lru_cache(maxsize=1)
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
