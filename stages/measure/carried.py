"""The worker's files as one file: the sandbox shows its server no folder of this project.

The same sources are what a bundle carries to a GPU machine and what `code_digest` names, so that a
result can say by which code it was measured.
"""

import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).parent
PACKAGE = "kernelset_measure"
"""The name that the measuring code goes by wherever it is carried."""
MODULES = ("nvml", "protocol", "gate", "program", "work", "inductor", "device", "worker")
"""What takes the times, in an order in which each imports only earlier ones."""
RUNNING = ("job", "canary", "nursery", "pool", "journal", "selftest", "runner")
"""What runs it on a machine without a sandbox."""

_LOADER = '''"""Made by stages/measure/carried.py from the files named in SOURCES. Do not edit."""

import linecache
import sys
import tempfile
import types

PACKAGE = "{package}"
SOURCES = {sources}

package = types.ModuleType(PACKAGE)
package.__path__ = []
sys.modules[PACKAGE] = package
for name, text in SOURCES.items():
    module = types.ModuleType(f"{{PACKAGE}}.{{name}}")
    module.__package__ = PACKAGE
    module.__file__ = f"<measure/{{name}}.py>"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(text, module.__file__, "exec"), module.__dict__)

COMPILES = {compiles}
package.worker.warm_up()
if COMPILES and package.inductor.compiler_works():
    package.inductor.warm_up_cpu()


def handle(request):
    if COMPILES:
        package.inductor.use_private_caches(tempfile.gettempdir())
    return package.worker.handle(request)
'''


def sources() -> dict[str, str]:
    """The worker's files by module name."""
    return {name: (FOLDER / f"{name}.py").read_text("utf-8") for name in MODULES}


def code_digest() -> str:
    """Identity of the measuring code."""
    text = json.dumps(sources(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_package(folder: Path) -> None:
    """Writes the measuring code into `folder`, as a package that needs torch and triton alone."""
    package = folder / PACKAGE
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text('"""Measuring code of kernelset."""\n')
    for name in (*MODULES, *RUNNING):
        (package / f"{name}.py").write_bytes((FOLDER / f"{name}.py").read_bytes())


def sandbox_worker(folder: Path, *, compiles: bool) -> Path:
    """Writes the worker's one file, if it isn't there, and gives its path.

    Args:
        folder: where it may lie.
        compiles: whether its server pays for Inductor's start (12 s) before the first fork.
    """
    kind = "compiled" if compiles else "eager"
    path = folder / f"worker-{kind}-{code_digest()}.py"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        text = _LOADER.format(
            package=PACKAGE, sources=json.dumps(sources(), indent=0), compiles=compiles
        )
        new = path.with_suffix(f".{kind}.new")
        new.write_text(text, "utf-8")
        new.replace(path)
    return path
