"""The guides in docs/ are true: what they show is run on the sample, what is too dear is checked.

sh, python   run, in a folder that has data/ and nothing else of the project
toml         read as sources
console      not run; each command and option of kernelset and each target of make must exist
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

from pipeline.paths import DATA, ROOT
from stages.__main__ import app
from stages.crawl.sources import chosen_sources

PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield text


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with data/ and a `kernelset` that is this checkout's."""
    (tmp_path / "data").symlink_to(DATA, target_is_directory=True)
    command = tmp_path / "bin" / "kernelset"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m stages "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    paths = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        arguments,
        cwd=folder,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_there_is_a_page_for_each_role() -> None:
    names = [page.stem for page in PAGES]
    assert names == ["contributor", "engine", "operator", "researcher", "reviewer"]


@pages
def test_a_page_is_one_page(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 130


@pages
def test_the_commands_of_a_page_run(page: Path, workplace: Path) -> None:
    for text in blocks(page, "sh"):
        done = run(["sh", "-e", "-c", text], workplace)
        assert done.returncode == 0, text + done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if [*blocks(p, "python")]], ids=lambda p: p.stem)
def test_the_python_of_a_page_runs(page: Path, workplace: Path) -> None:
    text = "\n".join(blocks(page, "python"))
    script = workplace / "page.py"
    script.write_text(text, encoding="utf-8")
    done = run([sys.executable, str(script)], workplace)
    assert done.returncode == 0, done.stderr


@pages
def test_every_command_and_option_exists(page: Path) -> None:
    known = typer.main.get_command(app)
    assert isinstance(known, click.Group) or hasattr(known, "commands")
    for line in "".join(blocks(page, "sh", "console")).splitlines():
        if line.startswith("kernelset "):
            _, name, *rest = shlex.split(line)
            assert name in known.commands, line
            options = {o for p in known.commands[name].params for o in [*p.opts, *p.secondary_opts]}
            assert {word for word in rest if word.startswith("--")} <= options, line


@pages
def test_every_make_target_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)\b", page.read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_source_of_the_contributors_page_is_one(tmp_path: Path) -> None:
    (text,) = blocks(ROOT / "docs" / "contributor.md", "toml")
    file = tmp_path / "sources.toml"
    file.write_text(text, encoding="utf-8")
    assert [source.name for source in chosen_sources(file, ["linformer"])] == ["linformer"]
