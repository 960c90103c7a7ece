"""What runs next to crawled code knows nothing but the standard library and torch."""

import ast
import sys
from pathlib import Path

import pytest

from pipeline.tracing.bundle import bundled

ROOT = Path(__file__).parents[3]
INSIDE = [
    *(ROOT / "stages" / "validate" / "probes").glob("*.py"),
    *(p for p in (ROOT / "pipeline" / "tracing").glob("*.py") if p.stem not in ("ask", "bundle")),
]
ALLOWED = {*sys.stdlib_module_names, "torch", "pipeline.tracing", "stages.validate.probes"}


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.stem)
def test_a_probe_imports_only_the_standard_library_torch_and_its_own(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert any(name == a or name.startswith(f"{a}.") for a in ALLOWED), name


def test_a_bundle_is_one_file_that_is_made_once() -> None:
    worker = ROOT / "stages" / "validate" / "worker.py"
    assert bundled(worker) == bundled(worker)
    assert "from stages.validate.worker import *" in bundled(worker).read_text()
