"""How much of real code becomes programs, and what stops the rest.

    python benchmarks/extract.py paritybench CHECKOUT/generated [--files 200] [--workers 2]
    python benchmarks/extract.py wheel FILE.whl …               [--files 40]

`paritybench` is the sample of jansel/pytorch-jit-paritybench (commit e0644afa) with the smallest
sha256 of their file names. Each file's TESTCASES, inputs that paritybench itself has found, are cut
off before extraction. The denominator is all module classes of the sample, base classes included.
"""

import argparse
import hashlib
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

from pipeline.files import write_table
from pipeline.source.package import PACKAGE, package_path
from pipeline.stage import Kept, Removed, Row, Workplace
from stages import STAGES

STAGE = next(stage for stage in STAGES if stage.name == "extract")
Verdicts = list[tuple[str, str, str]]  # (class, reason, detail)


def main() -> None:
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="kernelset-bench-"))
    started = time.perf_counter()
    for name, rows in _sets(arguments, folder):
        verdicts = _outcomes(rows, folder, arguments.workers)
        _report(name, verdicts, time.perf_counter() - started)
        started = time.perf_counter()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kind", choices=["paritybench", "wheel"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument(
        "--files", type=int, default=200, help="so many, by the sha256 of their names"
    )
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def _sets(arguments: argparse.Namespace, folder: Path) -> Iterable[tuple[str, list[Row]]]:
    if arguments.kind == "paritybench":
        (path,) = arguments.paths
        texts = {file.name: _without_answers(file.read_text()) for file in path.glob("test_*.py")}
        yield "paritybench", _rows(texts, "", arguments.files)
        return
    for path in arguments.paths:
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if name.endswith(".py")]
            texts = {name: wheel.read(name).decode("utf-8", "replace") for name in names}
        table = [{"path": name, "text": texts[name]} for name in sorted(texts)]
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        write_table(pa.Table.from_pylist(table, schema=PACKAGE), package_path(sha256, folder))
        yield path.name, _rows(texts, sha256, arguments.files)


def _without_answers(text: str) -> str:
    return text.partition("\nTESTCASES = [")[0]


def _rows(texts: Mapping[str, str], package_sha256: str, files: int) -> list[Row]:
    chosen = sorted(texts, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:files]
    empty = dict.fromkeys(STAGE.reads, "")
    return [
        empty | {"path": name, "text": texts[name], "package_sha256": package_sha256}
        for name in chosen
    ]


def _outcomes(rows: list[Row], folder: Path, workers: int) -> Verdicts:
    with ProcessPoolExecutor(workers) as pool:
        return [
            one for verdicts in pool.map(_of_file, rows, [folder] * len(rows)) for one in verdicts
        ]


def _of_file(row: Row, folder: Path) -> Verdicts:
    place = Workplace(cache=folder / "cache", shared=folder, data=folder)
    (outcomes,) = STAGE.work([row], STAGE.settings(), place)
    found = []
    for one in outcomes:
        if isinstance(one, Kept):
            found.append((str(one.columns["class_name"]), "kept", ""))
        elif one.reason != "no_module":
            found.append(
                (
                    one.name,
                    one.reason if isinstance(one, Removed) else f"failed: {one.reason}",
                    one.detail,
                )
            )
    return found


def _report(name: str, verdicts: Verdicts, seconds: float) -> None:
    counts = Counter(reason for _, reason, _ in verdicts)
    total = max(1, len(verdicts))
    lines = [
        f"{name}: {len(verdicts)} classes, {seconds:.0f} s, {len(verdicts) / seconds:.1f} classes/s"
    ]
    lines += [
        f"  {count:6d}  {count / total:6.1%}  {reason}" for reason, count in counts.most_common()
    ]
    details = Counter(
        f"{reason}: {_general(detail)}" for _, reason, detail in verdicts if reason != "kept"
    )
    lines += ["  most frequent details:"]
    lines += [f"  {count:6d}  {detail}" for detail, count in details.most_common(25)]
    sys.stdout.write("\n".join(lines) + "\n")


def _general(detail: str) -> str:
    return "".join("9" if character.isdigit() else character for character in detail)[:110]


if __name__ == "__main__":
    main()
