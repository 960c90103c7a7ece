"""Who may know whom: the rules of DESIGN.md, section 1, read from the imports."""

import ast
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stages import STAGES

ROOT = Path(__file__).resolve().parent.parent
# Code that runs inside a sandbox or on a bare GPU machine; what it imports of ours goes with it.
BARE = sorted({*ROOT.glob("stages/**/worker.py"), *ROOT.glob("pipeline/sandbox/inside/*.py")})


def imports(path: Path) -> Iterator[str]:
    """Every name that a file imports, anywhere in it, with relative ones made absolute."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{name.name}" for name in node.names)


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


def test_the_library_knows_no_stage_and_only_the_command_line_knows_the_library() -> None:
    for path in python_files("kernelset"):
        for name in imports(path):
            assert name.split(".")[0] != "stages", f"{path} imports {name}"
    for folder in ("schemas", "pipeline", "stages"):
        for path in python_files(folder):
            if path != ROOT / "stages" / "__main__.py":
                for name in imports(path):
                    assert name.split(".")[0] != "kernelset", f"{path} imports {name}"


def test_a_stage_never_imports_another_stage() -> None:
    for path in python_files("stages"):
        room = path.relative_to(ROOT / "stages").parts[0]
        if room in ("__init__.py", "__main__.py"):
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "stages":
                assert parts[1:2] == [room], f"{path} imports {name}"


def module_file(name: str, importer: Path) -> Path | None:
    """The project's file behind an imported name, if there is one."""
    for base in (ROOT, importer.parent):
        for parts in (name.split("."), name.split(".")[:-1]):
            for path in (
                base.joinpath(*parts).with_suffix(".py"),
                base.joinpath(*parts, "__init__.py"),
            ):
                if parts and path.is_file() and path.is_relative_to(ROOT):
                    return path
    return None


@pytest.mark.parametrize("worker", BARE, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_for_the_sandbox_needs_only_the_standard_library_and_torch(worker: Path) -> None:
    allowed = {*sys.stdlib_module_names, "torch", "triton"}
    waiting, seen = [worker], set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        for name in imports(path):
            own = module_file(name, path)
            assert own or name.split(".")[0] in allowed, f"{path} imports {name}"
            if own and own not in seen:
                waiting.append(own)


def test_every_stage_has_the_room_of_its_name() -> None:
    assert [stage.name for stage in STAGES] == [
        "crawl", "extract", "dedupe", "validate", "decontaminate",
        "distinct", "label", "shapes", "measure", "emit",
    ]  # fmt: skip
    for stage in STAGES:
        assert stage.work.__module__.startswith(f"stages.{stage.name}")


def test_a_stage_gives_what_the_next_one_reads() -> None:
    for before, after in itertools.pairwise(STAGES):
        missing = set(after.reads) - set(before.gives.names)
        assert not missing, f"{after.name} reads {missing}, which {before.name} does not give"
