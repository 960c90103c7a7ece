"""Moving sources: the newest version that upstream has now, pinned before anything of it is fetched.

pip resolves a wheel without installing, building or running anything: a dry run, whose report names
the version, the file and its digest. What upstream no longer has costs that source only.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from pipeline.errors import SourceError

AT_ONCE = 4  # look-ups of single packages, where the one for all did not go through


@dataclass(frozen=True)
class Newest:
    """A wheel as the package registry has it now."""

    version: str
    sha256: str
    file: str  # name of the wheel's file


@dataclass(frozen=True)
class Gone:
    """A package of which there is no wheel any more that fits this Python; pip's own words."""

    words: str


def newest_wheels(packages: Sequence[str]) -> dict[str, Newest | Gone]:
    """The newest wheel of each package that fits this Python.

    Raises:
        SourceError: none of them can be found; it is the registry that is away, not a package.
    """
    if not packages:
        return {}
    together = _resolve(packages)
    if isinstance(together, dict):
        return {package: together[package] for package in packages}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        each = dict(zip(packages, pool.map(lambda p: _resolve([p]), packages), strict=True))
    found = {p: one[p] if isinstance(one, dict) else one for p, one in each.items()}
    if all(isinstance(one, Gone) for one in found.values()):
        raise SourceError(
            f"no newest version of {', '.join(packages)} can be found: {together.words}; "
            "the release stays as it is; run again when the package registry can be reached"
        )
    return found


def _resolve(packages: Sequence[str]) -> dict[str, Newest] | Gone:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-",
               "--ignore-installed", "--no-deps", "--only-binary", ":all:", "--retries", "2",
               "--disable-pip-version-check", *packages]  # fmt: skip
    # What an environment forbids to install (PIP_REQUIRE_VIRTUALENV) may still be looked up.
    environment = os.environ | {"PIP_REQUIRE_VIRTUALENV": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
        return Gone((lines or ["no network?"])[-1].removeprefix("ERROR:").strip())
    found: dict[str, Newest] = {}
    for item in json.loads(done.stdout)["install"]:
        download = item["download_info"]
        name = canonicalize_name(item["metadata"]["name"])
        found[name] = Newest(
            version=item["metadata"]["version"],
            sha256=download["archive_info"]["hashes"]["sha256"],
            file=PurePosixPath(urlsplit(download["url"]).path).name,
        )
    return {package: found[canonicalize_name(package)] for package in packages}
