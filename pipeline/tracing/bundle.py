"""One file out of a worker and the packages it imports: the sandbox shows no file of the project.

The bundle carries its sources as text and brings
its own importer, so the worker is written as any other module, with plain imports.
"""

import atexit
import base64
import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

TRACING = Path(__file__).parent
OUTSIDE = ("bundle", "ask")  # the modules here that run on the caller's side

_IMPORTER = '''"""A worker and the packages it imports, in one file. Made by pipeline/tracing/bundle.py."""
import base64, importlib.abc, importlib.util, json, linecache, sys, zlib

_SOURCES = json.loads(zlib.decompress(base64.b85decode({sources!r})))

class _Importer(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name not in _SOURCES:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=_SOURCES[name][1])

    def is_package(self, name):
        return _SOURCES[name][1]

    def get_source(self, name):
        return _SOURCES[name][0]

    def exec_module(self, module):
        source, _ = _SOURCES[module.__name__]
        place = "<" + module.__name__ + ">"
        linecache.cache[place] = (len(source), None, source.splitlines(True), place)
        exec(compile(source, place, "exec"), module.__dict__)

sys.meta_path.insert(0, _Importer())
from {worker} import *
'''


@cache
def bundled(worker: Path) -> Path:
    """The worker with the packages beside it, as one file in a private tmp.

    `pipeline.tracing` is in it where the worker imports it. The file's text travels as an argument
    to another process, of which Linux takes 128 KiB: so the sources are compressed.

    The worker must stand in `stages/<room>/` or here; packages beside it are folders with an
    `__init__.py` in which every module imports the standard library, torch and these packages only.
    """
    root = TRACING.parents[1]
    name = ".".join(worker.with_suffix("").relative_to(root).parts)
    sources = {name: (worker.read_text(), False)}
    for folder in sorted(path.parent for path in worker.parent.glob("*/__init__.py")):
        sources |= _package(root, folder)
    if any("pipeline.tracing" in text for text, _ in sources.values()):
        sources |= _package(root, TRACING)
    return _written(_IMPORTER.format(sources=_packed(_with_parents(sources)), worker=name))


def _package(root: Path, folder: Path) -> dict[str, tuple[str, bool]]:
    package = ".".join(folder.relative_to(root).parts)
    files = {
        path.stem: path.read_text()
        for path in sorted(folder.glob("*.py"))
        if path.stem not in OUTSIDE
    }
    initial = {package: (files.pop("__init__"), True)}
    return initial | {f"{package}.{name}": (text, False) for name, text in files.items()}


def _with_parents(sources: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """Packages above are empty inside: their real content (pyarrow, settings) is not for there."""
    above = {name.rsplit(".", k)[0] for name in sources for k in range(1, name.count(".") + 1)}
    return dict.fromkeys(sorted(above), ("", True)) | dict(sorted(sources.items()))


def _packed(sources: Mapping[str, tuple[str, bool]]) -> str:
    return base64.b85encode(zlib.compress(json.dumps(sources).encode(), 9)).decode()


def _written(text: str) -> Path:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = _folder() / f"worker-{digest}.py"
    path.write_text(text)
    return path


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="kernelset-workers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
