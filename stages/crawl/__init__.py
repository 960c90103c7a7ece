"""crawl: which files are fetched, their exact origin and licence.

One row in is one source of data/sources.toml, resolved to a version; its units are the Python files
in it. Nothing that is fetched is ever installed, built or imported.
"""

from collections.abc import Sequence

import pyarrow as pa
from pydantic import Field

from pipeline.errors import SourceError
from pipeline.stage import Failed, Kept, MapStage, Outcome, Removed, Row, Settings, Workplace
from schemas.source_file import SOURCE_FILE
from stages.crawl.fetch import (
    Fetched,
    UpstreamChanged,
    fetch,
    included,
    newest_commit,
    resolve,
)
from stages.crawl.licence import PERMISSIVE, judge
from stages.crawl.newest import newest_wheels
from stages.crawl.reading import read_file
from stages.crawl.shared import share_licence, share_package
from stages.crawl.sources import COLUMNS, chosen_sources


class CrawlSettings(Settings):
    """`[crawl]`"""

    sources: list[str] = Field(["examples"], description="names from data/sources.toml")
    licences: list[str] = Field(sorted(PERMISSIVE), description="SPDX ids that may enter")
    max_file_kb: int = Field(512, gt=0, description="larger files are removed: generated code")
    max_files: int | None = Field(
        None, gt=0, description="per source: the files with the smallest digest; null takes all"
    )
    moving: bool = Field(
        False,
        description="wheels in their newest version and repositories at their newest commit, instead "
        "of what data/sources.toml pins; the release's manifest pins what was taken",
    )


def start(settings: CrawlSettings, workplace: Workplace) -> pa.Table:
    """The sources of this run, each resolved to an exact version and content digest."""
    sources = chosen_sources(workplace.data / "sources.toml", settings.sources)
    root = workplace.data.parent
    wheels = [source.package for source in sources if source.kind == "wheel" and settings.moving]
    newest = newest_wheels(wheels)
    rows = [
        resolve(source, root, newest.get(source.package) if source.kind == "wheel" else None)
        for source in sources
    ]
    if settings.moving:
        rows = [newest_commit(row) if row["source_kind"] == "git" else row for row in rows]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def work(rows: Sequence[Row], settings: CrawlSettings, workplace: Workplace) -> list[list[Outcome]]:
    return [_crawl(row, settings, workplace) for row in rows]


def _crawl(source: Row, settings: CrawlSettings, workplace: Workplace) -> list[Outcome]:
    if source["trouble"]:
        detail = f"upstream has no version of it now: {source['trouble']}"
        return [Failed("upstream_gone", detail, name=source["source_name"])]
    try:
        fetched = fetch(source, workplace.cache)
    except UpstreamChanged as error:
        return [Failed("upstream_changed", str(error), name=source["source_name"])]
    except SourceError as error:
        return [Failed("not_fetched", str(error), name=source["source_name"])]
    files = [file for file in fetched.files if included(file.path, source)]
    verdict = judge(fetched.declared_licence, fetched.licence_text, settings.licences)
    if verdict.removed is not None:
        return [verdict.removed.named(file.path) for file in files] or [
            verdict.removed.named(source["source_name"])
        ]
    origin = _origin(source, fetched, verdict.licence, verdict.text_sha256)
    share_licence(fetched.licence_text, verdict.text_sha256, workplace.shared)
    origin["package_sha256"] = share_package(fetched.files, workplace.shared)
    outcomes: list[Outcome] = [
        read_file(file, origin, settings.licences, settings.max_file_kb)
        for file in sorted(files, key=lambda file: file.path)
    ]
    if not outcomes:
        return [Failed("empty_source", "no Python file matches", name=source["source_name"])]
    return _capped(outcomes, settings.max_files)


def _origin(source: Row, fetched: Fetched, licence: str, text_sha256: str) -> dict[str, str]:
    return {
        "source_name": source["source_name"],
        "source_kind": source["source_kind"],
        "origin": source["origin"],
        "version": fetched.version,
        "licence": licence,
        "licence_sha256": text_sha256,
    }


def _capped(outcomes: list[Outcome], limit: int | None) -> list[Outcome]:
    """Keeps `limit` files, chosen by digest so that the choice is the same everywhere."""
    kept = sorted(
        (outcome for outcome in outcomes if isinstance(outcome, Kept)),
        key=lambda outcome: outcome.columns["file_id"],
    )
    if limit is None or len(kept) <= limit:
        return outcomes
    chosen = {outcome.columns["file_id"] for outcome in kept[:limit]}
    return [
        Removed(
            "over_max_files",
            "the recipe takes only so many files of a source",
            metric="files",
            value=len(kept),
            threshold=limit,
            name=outcome.columns["path"],
        )
        if isinstance(outcome, Kept) and outcome.columns["file_id"] not in chosen
        else outcome
        for outcome in outcomes
    ]


STAGE = MapStage(
    name="crawl",
    doing="fetching sources",
    version=2,  # 2: the shared copy of a package holds every file, not only those included
    settings=CrawlSettings,
    gives=SOURCE_FILE,
    reads=tuple(COLUMNS.names),
    work=work,
    key="source_name",
    expands=True,
    batch=1,
    start=start,
    choosing=("sources", "moving"),
    pins=("source_name", "source_kind", "origin", "version", "sha256", "content"),
)
