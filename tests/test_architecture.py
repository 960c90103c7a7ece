"""Who may know whom: the rules of DESIGN.md, section 1, read from the imports."""

import ast
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stages import STAGES

ROOT = Path(__file__).resolve().parent.parent
# Code that runs inside a sandbox or on a bare GPU machine.
BARE = sorted(
    {
        *ROOT.glob("stages/*/worker.py"),
        *ROOT.glob("pipeline/sandbox/inside/*.py"),
    }
)


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, with relative ones made absolute."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join([*base, *([node.module] if node.module else [])])


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_schemas_import_nothing_of_the_project() -> None:
    for path in python_files("schemas"):
        for name in imports(path):
            assert name.split(".")[0] not in ("pipeline", "stages"), f"{path} imports {name}"


def test_the_engine_knows_no_stage() -> None:
    for path in python_files("pipeline"):
        for name in imports(path):
            assert name.split(".")[0] != "stages", f"{path} imports {name}"


def test_a_stage_never_imports_another_stage() -> None:
    for path in python_files("stages"):
        room = path.relative_to(ROOT / "stages").parts[0]
        if room in ("__init__.py", "__main__.py"):
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "stages":
                assert parts[1:2] == [room], f"{path} imports {name}"


@pytest.mark.parametrize("path", BARE, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_for_the_sandbox_imports_only_the_standard_library_and_torch(path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "torch"}
    for name in imports(path):
        own = (path.parent / f"{name.split('.')[-1]}.py").exists()
        inside = name.startswith("pipeline.sandbox.inside") or name.startswith("pipeline.tracing")
        assert name.split(".")[0] in allowed or own or inside, f"{path} imports {name}"


def test_every_stage_has_the_room_of_its_name() -> None:
    assert [stage.name for stage in STAGES] == [
        "crawl", "extract", "dedupe", "validate", "decontaminate",
        "label", "shapes", "measure", "emit",
    ]  # fmt: skip
    for stage in STAGES:
        assert stage.work.__module__.startswith(f"stages.{stage.name}")


def test_a_stage_gives_what_the_next_one_reads() -> None:
    for before, after in itertools.pairwise(STAGES):
        missing = set(after.reads) - set(before.gives.names)
        assert not missing, f"{after.name} reads {missing}, which {before.name} does not give"
