"""data/sources.toml: what may be crawled, each source pinned (see newest.py for those that move)."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import UsageError

text, texts = pa.string(), pa.list_(pa.string())

COLUMNS = pa.schema(
    [
        ("source_name", text),
        ("source_kind", text),
        ("origin", text),
        ("version", text),
        ("sha256", text),
        ("location", text),
        ("include", texts),
        ("exclude", texts),
        ("licence", text),
        ("content", text),  # digest of what is there now: a changed folder is a new source
        ("trouble", text),  # why a moving source has no version now; empty: it has one
    ]
)


class Source(BaseModel):
    """`[[source]]`"""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["installed", "wheel", "folder", "git"]
    package: str = Field("", description="installed, wheel: name in the package registry")
    version: str = Field("", description="wheel: exact version")
    sha256: str = Field("", description="wheel: digest of the file")
    path: str = Field("", description="folder, git: a path, relative to the project")
    url: str = Field("", description="git: what to clone where there is no path")
    commit: str = Field("", description="git: 40 hex digits")
    include: list[str] = Field(["**"], description="globs of paths inside the source")
    exclude: list[str] = []
    licence: str = Field("", description="folder, git: SPDX id; must agree with the licence file")

    @model_validator(mode="after")
    def _complete(self) -> "Source":
        needed = {
            "installed": ["package"],
            "wheel": ["package", "version", "sha256"],
            "folder": ["path"],
            "git": ["commit"],
        }[self.kind]
        for key in needed:
            if not getattr(self, key):
                raise ValueError(f"a source of kind {self.kind} needs {key!r}")
        if self.kind == "git" and not (self.path or self.url):
            raise ValueError("a source of kind git needs 'url' or 'path'")
        return self


def chosen_sources(path: Path, names: Sequence[str]) -> list[Source]:
    """The named sources, in the order of their names.

    Raises:
        UsageError: the file is malformed, or has no source of that name.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("source", [])
        sources = {entry.get("name", "?"): Source.model_validate(entry) for entry in entries}
    except OSError as error:
        raise UsageError(f"{path}: can't be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "source"
        name = first["input"].get("name", "?") if isinstance(first["input"], dict) else "?"
        raise UsageError(f"{path}: source {name!r}: {where}: {first['msg']}") from None
    for name in names:
        if name not in sources:
            raise UsageError(f"{path}: no source {name!r}; there are: {', '.join(sorted(sources))}")
    return [sources[name] for name in sorted(set(names))]
