"""A release on disk: is it whole, and is it of a schema that this code can read?"""

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernelset.baseline import Baseline
from kernelset.errors import ReleaseError
from kernelset.shape import Shape
from pipeline.errors import UsageError
from pipeline.files import read_json
from pipeline.release import LATEST

SHARD = re.compile(r"(?P<split>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.parquet")
LONG = "baselines.list.element.generated_code"  # most of a release's bytes; read from the shards
COLUMNS = (
    *("problem_id", "code", "class_name", "family_id", "level", "split", "graph_sha256"),
    *("source_name", "origin", "version", "path", "licence", "licence_sha256"),
    *("parameters", "flops", "flops_matrix", "bytes_fused", "bytes_unfused", "working_set"),
    *("atol", "rtol", "atol_bf16", "rtol_bf16", "shapes", "baselines"),
)
"""What this library reads of a row. A release with all of these is of no older schema."""
NESTED = {
    "shapes": [field.name for field in fields(Shape)],
    "baselines": [field.name for field in fields(Baseline)],
}
GROUPS_IN_MEMORY = 32  # of 1000 rows each, some 10 MB: the paper's whole set stays in memory


@dataclass(frozen=True)
class Shards:
    """The Parquet files of a release, in the order of their names."""

    folder: Path
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Place:
    """Where a row is."""

    path: Path
    group: int
    row: int


def open_shards(wanted: str | Path, root: Path) -> Shards:
    """The release at a path or of a name below `root`; its files are checked, its rows not read.

    Raises:
        UsageError: there is no such release.
        ReleaseError: a shard is missing or damaged, or the schema is older.
    """
    folder = _find(Path(wanted), root)
    paths = tuple(sorted((folder / "data").glob("*.parquet")))
    _check_complete(folder, paths)
    for path in paths:
        _check_schema(_file(path).schema_arrow, path)
    return Shards(folder, paths)


def columns(shards: Shards, names: Sequence[str]) -> pa.Table:
    """Some columns of all rows, in order; a nested one by its path in the Parquet file."""
    return pa.concat_tables([_file(path).read(columns=list(names)) for path in shards.paths])


def places(shards: Shards) -> list[Place]:
    """Where each row is, in order."""
    found = []
    for path in shards.paths:
        metadata = _file(path).metadata
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            found += [Place(path, group, row) for row in range(rows)]
    return found


@functools.lru_cache(maxsize=GROUPS_IN_MEMORY)
def read_group(path: Path, group: int) -> pa.Table:
    """A row group without the generated code."""
    file = _file(path)
    leaves = [file.schema.column(index).path for index in range(len(file.schema))]
    return file.read_row_group(group, columns=[leaf for leaf in leaves if leaf != LONG])


def full_rows(shards: Shards, problem_ids: Sequence[str]) -> pa.Table:
    """The rows of these problems with all their columns, in the order of problem_id."""
    wanted = pa.array(problem_ids, pa.string())
    parts = []
    for path in shards.paths:
        table = _file(path).read()
        parts.append(table.filter(pc.is_in(table["problem_id"], wanted)))
    return pa.concat_tables(parts).sort_by("problem_id")


def _find(wanted: Path, root: Path) -> Path:
    for folder in (wanted, root / wanted, root / "releases" / wanted):
        if (folder / "data").is_dir():
            return folder.resolve()
    advice = "make one with: kernelset run" if wanted == Path(LATEST) else "see: kernelset releases"
    raise UsageError(f"{wanted}: no release there nor in {root}; {advice}")


def _check_complete(folder: Path, paths: Sequence[Path]) -> None:
    """A shard's name says how many there are; the manifest names them all."""
    there: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for path in paths:
        if match := SHARD.fullmatch(path.name):
            there[match["split"], match["count"]].add(int(match["index"]))
    missing = {
        f"{split}-{index:05d}-of-{count}.parquet"
        for (split, count), seen in there.items()
        for index in set(range(int(count))) - seen
    }
    manifest = folder / "manifest.json"
    listed = read_json(manifest).get("files", {}) if manifest.exists() else {}
    missing |= {
        Path(name).name
        for name in listed
        if name.startswith("data/") and not (folder / name).exists()
    }
    if missing:
        raise ReleaseError(f"{folder}/data: shard missing: {', '.join(sorted(missing))}")
    if not paths:
        raise ReleaseError(f"{folder}/data: no shards; the release has 0 rows")


def _check_schema(schema: pa.Schema, path: Path) -> None:
    """Every column that is read is there, and in the nested ones every field; more may be."""
    missing = set(COLUMNS) - set(schema.names)
    for name, needed in NESTED.items():
        if name in schema.names and pa.types.is_list(schema.field(name).type):
            there = {field.name for field in schema.field(name).type.value_type}
            missing |= {f"{name}.{field}" for field in needed if field not in there}
    if missing:
        raise ReleaseError(
            f"{path}: of an older schema, without {', '.join(sorted(missing))}; "
            "make the release anew with: kernelset run"
        )


def _file(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ReleaseError(f"{path}: damaged shard ({error}); copy the release again") from error
