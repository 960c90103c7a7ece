"""One file out of the prober's many: the sandbox takes a worker's text and sees no project folder."""

import os
import tempfile
from functools import cache
from pathlib import Path

from pipeline.source.canonical import digest

PROBER = Path(__file__).parent / "prober"

_HEAD = '''"""The prober in one file; made from stages/extract/prober."""
import importlib.abc
import importlib.util
import linecache
import sys

SOURCES = {sources!r}


class _Inside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            return importlib.util.spec_from_loader(name, self, is_package=name == "prober")

    def exec_module(self, module):
        file = "<" + module.__name__ + ">"
        source = SOURCES[module.__name__]
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), module.__dict__)


sys.meta_path.insert(0, _Inside())
from prober.worker import handle
'''


@cache
def bundled(folder: Path) -> Path:
    """Writes the worker's file below `folder`, once for each text; gives its path."""
    sources = {
        "prober" if path.stem == "__init__" else f"prober.{path.stem}": path.read_text("utf-8")
        for path in sorted(PROBER.glob("*.py"))
    }
    text = _HEAD.format(sources=sources)
    target = folder / f"prober-{digest(text)[:16]}.py"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(target)
    return target
