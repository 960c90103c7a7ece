"""crawl: exact origin, permissive licence, and bad input that costs one file only."""

import hashlib
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pipeline.errors import SourceError, UsageError
from pipeline.paths import DATA
from pipeline.source.package import read_package
from pipeline.stage import Failed, Kept, Outcome, Removed, Workplace
from schemas.source_file import SOURCE_FILE
from stages.crawl import STAGE, CrawlSettings, start, work

MIT = """MIT License

Permission is hereby granted, free of charge, to any person obtaining a copy of this software ...
The above copyright notice and this permission notice shall be included in all copies.
"""
MODULE = (
    "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


def crawl(project: Path, sources: str, **settings) -> list[Outcome]:
    (project / "data" / "sources.toml").write_text(sources)
    names = [line.split('"')[1] for line in sources.splitlines() if line.startswith("name")]
    chosen = CrawlSettings(sources=names, **settings)
    place = place_of(project)
    rows = start(chosen, place).to_pylist()
    return [outcome for outcomes in work(rows, chosen, place) for outcome in outcomes]


def place_of(project: Path) -> Workplace:
    place = Workplace(cache=project / "cache", shared=project / "shared", data=project / "data")
    place.cache.mkdir(exist_ok=True)
    return place


def folder(project: Path, files: dict[str, bytes], licence: str | None = MIT) -> str:
    root = project / "code"
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if licence is not None:
        (root / "LICENSE").write_text(licence)
    return '[[source]]\nname = "code"\nkind = "folder"\npath = "code"\nlicence = "MIT"\n'


def wheel(
    project: Path,
    name: str = "netpack",
    licence: str = "License: MIT",
    version: str = "1.0",
    code: str = MODULE,
) -> Path:
    path = project / "wheels" / f"{name}-{version}-py3-none-any.whl"
    path.parent.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/net.py", code)
        archive.writestr(f"{name}/plain.py", "x = 1\n")
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{licence}\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/licenses/LICENSE", MIT)
        archive.writestr(f"{info}/RECORD", "")
    return path


def wheel_source(path: Path, sha256: str | None = None) -> str:
    digest = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
    return (
        f'[[source]]\nname = "netpack"\nkind = "wheel"\npackage = "netpack"\n'
        f'version = "1.0"\nsha256 = "{digest}"\n'
    )


@pytest.fixture
def offline(project: Path, monkeypatch) -> None:
    """pip finds wheels in the project's folder and nowhere else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project / "wheels"))


def test_a_file_carries_its_exact_origin_and_licence(project: Path) -> None:
    (outcome,) = crawl(project, folder(project, {"a/net.py": MODULE.encode()}))
    assert isinstance(outcome, Kept)
    row = outcome.columns
    assert set(row) == set(SOURCE_FILE.names)
    assert (row["source_name"], row["path"], row["licence"]) == ("code", "a/net.py", "MIT")
    assert row["licence_sha256"] == hashlib.sha256(MIT.encode()).hexdigest()
    assert row["source_sha256"] == hashlib.sha256(MODULE.encode()).hexdigest()
    assert (project / "shared" / "licences" / f"{row['licence_sha256']}.txt").read_text() == MIT
    assert read_package(row["package_sha256"], project / "shared") == {"a/net.py": MODULE}


def test_a_wheel_is_read_without_being_installed(project: Path, offline) -> None:
    outcomes = crawl(project, wheel_source(wheel(project)))
    kept = [o for o in outcomes if isinstance(o, Kept)]
    assert [o.columns["path"] for o in kept] == ["netpack/net.py"]
    assert [o.reason for o in outcomes if isinstance(o, Removed)] == ["no_module"]


def test_a_wheel_with_another_digest_is_not_used(project: Path, offline) -> None:
    (outcome,) = crawl(project, wheel_source(wheel(project), sha256="0" * 64))
    assert isinstance(outcome, Failed)
    assert "data/sources.toml pins 000" in outcome.detail
    assert not list((project / "cache" / "wheels").glob("*.whl"))


def test_a_missing_network_fails_that_source_and_leaves_nothing(project: Path, offline) -> None:
    good = folder(project, {"net.py": MODULE.encode()})
    (project / "wheels").mkdir()
    outcomes = crawl(project, good + wheel_source(project / "wheels", sha256="1" * 64))
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Kept": 1, "Failed": 1}
    failed = next(o for o in outcomes if isinstance(o, Failed))
    assert "netpack==1.0: can't be downloaded" in failed.detail
    assert not list((project / "cache").rglob("*.partial*"))


def test_a_git_source_is_read_at_its_commit_without_a_checkout(project: Path) -> None:
    repository = project / "repo"
    repository.mkdir()
    (repository / "net.py").write_text(MODULE)
    (repository / "LICENCE").write_text(MIT)
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one")
    commit = git(repository, "rev-parse", "HEAD")
    (repository / "net.py").write_text("changed")
    source = (
        '[[source]]\nname = "repo"\nkind = "git"\npath = "repo"\nlicence = "MIT"\n'
        f'commit = "{commit}"\n'
    )
    (outcome,) = crawl(project, source)
    assert isinstance(outcome, Kept)
    assert outcome.columns["text"] == MODULE
    assert outcome.columns["version"] == commit


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_an_installed_package_has_version_and_licence_from_its_metadata(project: Path) -> None:
    source = (
        '[[source]]\nname = "torch"\nkind = "installed"\npackage = "torch"\n'
        'include = ["torch/nn/modules/*"]\n'
    )
    kept = [o.columns for o in crawl(project, source) if isinstance(o, Kept)]
    assert len(kept) > 20
    assert {row["source_kind"] for row in kept} == {"installed"}
    assert all("BSD-3-Clause" in row["licence"] for row in kept)


@pytest.mark.parametrize(
    ("licence", "reason"),
    [
        ("License-Expression: GPL-3.0-only", "licence_disagrees"),
        ("License-Expression: LicenseRef-Proprietary", "licence_unknown"),
        ("License-Expression: MIT AND GPL-2.0-only", "licence_not_permissive"),
        ("License: BSD", "kept"),  # says too little, so the text decides: it is MIT
        ("License: Apache 2.0", "licence_disagrees"),
        ("License-Expression: MIT OR GPL-2.0-only", "kept"),
    ],
)
def test_only_permissive_licences_enter(project: Path, offline, licence, reason) -> None:
    outcomes = crawl(project, wheel_source(wheel(project, licence=licence)))
    assert reason in {getattr(outcome, "reason", "kept") for outcome in outcomes}
    assert any(isinstance(o, Kept) for o in outcomes) == (reason == "kept")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "licence_text_missing"),
        ("You may look but not touch.", "licence_text_unknown"),
        (MIT + "\nUse-based restrictions apply.", "licence_custom"),
    ],
)
def test_a_licence_text_that_is_missing_or_restricted_is_a_reason(project, text, reason) -> None:
    outcomes = crawl(project, folder(project, {"net.py": MODULE.encode()}, licence=text))
    assert [getattr(outcome, "reason", "kept") for outcome in outcomes] == [reason]


def test_a_file_with_a_licence_of_its_own_is_judged_by_it(project: Path) -> None:
    header = b"# SPDX-License-Identifier: GPL-3.0-only\n"
    outcomes = crawl(project, folder(project, {"net.py": header + MODULE.encode()}))
    assert [o.reason for o in outcomes if isinstance(o, Removed)] == ["licence_in_header"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xef\xbb\xbf" + MODULE.encode(), "kept"),
        (MODULE.replace("\n", "\r\n").encode(), "kept"),
        (b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + MODULE.encode(), "kept"),
        (b"# caf\xe9\n" + MODULE.encode(), "undecodable"),
        (b"# -*- coding: klingon -*-\n" + MODULE.encode(), "undecodable"),
        (MODULE.encode() + b"\0", "nul_bytes"),
        (MODULE.encode() + b"#" * 600_000, "too_big"),
        (b"x = 1\n", "no_module"),
    ],
)
def test_a_bad_file_costs_that_file_only(project: Path, content: bytes, reason: str) -> None:
    outcomes = crawl(project, folder(project, {"a.py": content, "z.py": MODULE.encode()}))
    assert [getattr(o, "reason", "kept") for o in outcomes] == [reason, "kept"]
    text = next(o.columns["text"] for o in outcomes if isinstance(o, Kept))
    assert "\r" not in text
    assert not text.startswith("\ufeff")


def test_more_files_than_wanted_are_removed_by_a_stable_choice(project: Path) -> None:
    files = {f"net{i}.py": f"# {i}\n{MODULE}".encode() for i in range(6)}
    outcomes = crawl(project, folder(project, files), max_files=2)
    assert Counter(getattr(o, "reason", "kept") for o in outcomes) == {
        "kept": 2,
        "over_max_files": 4,
    }
    again = crawl(project, folder(project, files), max_files=2)
    assert outcomes == again


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[[source]]\nname = "a"\nkind = "wheel"\n', "needs 'package'"),
        ('[[source]]\nname = "a"\nkind = "tarball"\n', "kind"),
        ('[[source]]\nname = "a"\nkind = "folder"\npath = "x"\nlicense = "MIT"\n', "license"),
        ('[[source]\nname = "a"', "not valid TOML"),
    ],
)
def test_a_malformed_source_is_one_line(project: Path, toml: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        crawl(project, toml)
    assert "sources.toml" in str(error.value)


def test_a_folder_that_is_not_there_is_one_line(project: Path) -> None:
    with pytest.raises(SourceError, match="no folder"):
        crawl(project, '[[source]]\nname = "a"\nkind = "folder"\npath = "nowhere"\n')


def test_every_source_that_ships_is_complete() -> None:
    import tomllib

    names = [s["name"] for s in tomllib.loads((DATA / "sources.toml").read_text())["source"]]
    assert len(names) == len(set(names))


PINNED = '[[source]]\nname = "netpack"\nkind = "wheel"\npackage = "netpack"\nversion = "1.0"\nsha256 = "0"\n'
OTHER = PINNED.replace("netpack", "other")


def test_a_moving_wheel_is_taken_in_its_newest_version_and_pinned(project, offline) -> None:
    wheel(project)
    newer = wheel(project, version="1.10")
    kept = [o.columns for o in crawl(project, PINNED, moving=True) if isinstance(o, Kept)]
    assert [row["version"] for row in kept] == ["1.10"]
    (row,) = start(CrawlSettings(sources=["netpack"], moving=True), place_of(project)).to_pylist()
    assert {name: row[name] for name in STAGE.pins} == {
        "source_name": "netpack",
        "source_kind": "wheel",
        "origin": "netpack",
        "version": "1.10",
        "sha256": hashlib.sha256(newer.read_bytes()).hexdigest(),
        "content": hashlib.sha256(newer.read_bytes()).hexdigest(),
    }


def test_a_wheel_that_upstream_took_away_is_one_failed_row_and_the_others_go_on(
    project, offline
) -> None:
    wheel(project)
    outcomes = crawl(project, PINNED + OTHER, moving=True)
    assert [o.reason for o in outcomes if isinstance(o, Failed)] == ["upstream_gone"]
    (failed,) = [o for o in outcomes if isinstance(o, Failed)]
    assert failed.name == "other"
    assert "No matching distribution found for other" in failed.detail
    assert [o.columns["source_name"] for o in outcomes if isinstance(o, Kept)] == ["netpack"]


def test_where_no_moving_wheel_is_found_it_is_the_registry_and_the_run_stops(
    project, offline
) -> None:
    (project / "wheels").mkdir()
    with pytest.raises(SourceError, match=r"no newest version of netpack, other can be found"):
        crawl(project, PINNED + OTHER, moving=True)


def test_other_bytes_under_the_same_version_are_not_used_until_somebody_agrees(
    project, offline
) -> None:
    wheel(project)
    assert any(isinstance(o, Kept) for o in crawl(project, PINNED, moving=True))
    wheel(project, code=MODULE.replace("+ 1", "+ 2"))
    (failed,) = crawl(project, PINNED, moving=True)
    assert isinstance(failed, Failed)
    assert failed.reason == "upstream_changed"
    assert "the file changed under its version; nothing of it is used" in failed.detail
    seen = project / "cache" / "seen" / "netpack-1.0-py3-none-any.whl.sha256"
    assert failed.detail.endswith(f"delete {seen}")
    seen.unlink()
    assert any(isinstance(o, Kept) for o in crawl(project, PINNED, moving=True))


def test_a_moving_repository_is_taken_at_its_newest_commit_through_an_old_mirror(project) -> None:
    repository = project / "repo"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for text in (MODULE, MODULE.replace("+ 1", "+ 2")):
        (repository / "net.py").write_text(text)
        (repository / "LICENCE").write_text(MIT)
        git(repository, "add", ".")
        git(repository, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one")
        commits.append(git(repository, "rev-parse", "HEAD"))
        source = (
            f'[[source]]\nname = "repo"\nkind = "git"\nurl = "file://{repository}"\n'
            f'licence = "MIT"\ncommit = "{commits[0]}"\n'
        )
        (outcome,) = crawl(project, source, moving=True)
        assert isinstance(outcome, Kept)
        assert (outcome.columns["version"], outcome.columns["text"]) == (commits[-1], text)
    (outcome,) = crawl(project, source)
    assert outcome.columns["version"] == commits[0] != commits[1]
