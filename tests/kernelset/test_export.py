"""`kernelset export`: each format is read back by the library it is for, and its programs run."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

import kernelset
from kernelset.export import FORMATS, Request, export
from kernelset.export.facts import TYPES
from kernelset.export.prompt import Prompt
from kernelset.reward import value
from pipeline.errors import UsageError
from pipeline.paths import ROOT
from tests.kernelset.releases import SAMPLE, eager, rows_of, small_rows, write_release


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> kernelset.Problems:
    """Eight rows in two splits, times at every shape, one class name that is no file name."""
    rows = small_rows()[:8]
    rows[0]["class_name"] = "Größe/../x"
    for row in rows[6:]:
        row["split"] = "validation"
    for row in rows:  # times at every shape, and one that was not accepted
        base = eager(row) | {"shape_id": row["shapes"][0]["shape_id"]}
        more = [base | {"shape_id": shape["shape_id"]} for shape in row["shapes"][1:]]
        noisy = base | {"mode": "inductor", "status": "noisy", "median_ms": None}
        row["baselines"] = [base, noisy, *more]
    return kernelset.load(write_release(tmp_path_factory.mktemp("export") / "r", rows))


def exported(problems: kernelset.Problems, folder: Path, to: str, shapes: str = "train") -> Path:
    export(problems, problems.folder, Request(to, shapes), folder / to)
    return folder / to


def read_back(folder: Path, kind: str, split: str, cache: Path) -> list[dict[str, Any]]:
    ending = {"json": "jsonl", "parquet": "parquet"}[kind]
    files = {split: str(folder / f"{split}.{ending}")}
    return list(datasets.load_dataset(kind, data_files=files, split=split, cache_dir=str(cache)))


@pytest.mark.parametrize(
    ("to", "kind"),
    [("verl", "parquet"), ("trl", "parquet"), ("jsonl", "json"), ("openai-rft", "json")],
)
def test_datasets_reads_every_row_of_every_split(
    problems: kernelset.Problems, tmp_path: Path, to: str, kind: str
) -> None:
    folder = exported(problems, tmp_path, to)
    for split, count in (("train", 6), ("validation", 2)):
        assert len(read_back(folder, kind, split, tmp_path / "cache")) == count


def test_verl_gets_its_own_row_convention(problems: kernelset.Problems, tmp_path: Path) -> None:
    rows = read_back(exported(problems, tmp_path, "verl"), "parquet", "train", tmp_path / "cache")
    for index, (row, problem) in enumerate(zip(rows, problems, strict=False)):
        assert list(row) == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
        assert [message["role"] for message in row["prompt"]] == ["user"]
        assert row["reward_model"]["style"] == "rule"
        assert row["extra_info"]["index"] == index
        told = json.loads(row["reward_model"]["ground_truth"])
        assert told["problem_id"] == row["extra_info"]["problem_id"] == problem.problem_id


def test_trl_gets_a_conversational_prompt_and_columns_for_its_reward_functions(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    rows = read_back(exported(problems, tmp_path, "trl"), "parquet", "train", tmp_path / "cache")
    for row, problem in zip(rows, problems, strict=False):
        assert set(row) == {"prompt", *TYPES}
        (message,) = row["prompt"]
        assert message["role"] == "user" and problem.program() in message["content"]


def test_openai_gets_messages_that_end_with_the_user(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    text = (exported(problems, tmp_path, "openai-rft") / "train.jsonl").read_text("utf-8")
    for line in text.splitlines():
        row = json.loads(line)
        assert row["messages"][-1]["role"] == "user"
        assert set(row) == {"messages", *TYPES} and "tools" not in row


def test_a_reward_can_be_computed_from_the_row_alone(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    text = (exported(problems, tmp_path, "jsonl") / "train.jsonl").read_text("utf-8")
    for line, problem in zip(text.splitlines(), problems, strict=False):
        row = json.loads(line)
        base, shape = row["baselines"][0], row["shapes"][0]
        assert base["shape_id"] == shape["shape_id"]
        assert all(one["median_ms"] for one in row["baselines"])
        assert len(row["baselines"]) == len(row["shapes"])
        assert value(base["median_ms"] / 1e3 / 0.002, True) == problem.reward(
            0.002, True, device=base["device"], mode=base["mode"]
        )
        namespace: dict[str, Any] = {}
        exec(shape["program"], namespace)
        with torch.no_grad():
            model = namespace[row["entry_point"]](*namespace["get_init_inputs"]()).eval()
            output = model(*namespace["get_inputs"]())
        reference = output[0] if isinstance(output, tuple | list) else output
        allowed = row["tolerance"]["atol"] + row["tolerance"]["rtol"] * reference.abs()
        assert bool((allowed > 0).all())


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"exported_{path.parent.name}_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_kernelbench_folder_is_imported_and_run_at_each_shape(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    folder = exported(problems, tmp_path, "kernelbench", shapes="all")
    lines = [json.loads(line) for line in (folder / "problems.jsonl").read_text().splitlines()]
    assert len(lines) == len(problems)
    ran = 0
    for line in lines[:4]:
        problem = problems.find(line["problem_id"])
        first, *further = [shape.name for shape in problem.shapes]
        for name in (first, *further):
            path = folder / ("" if name == first else f"shapes/{name}") / line["file"]
            module = imported(path)
            inputs = module.get_inputs()
            expected = [getattr(one, "shape", None) for one in problem.inputs(name)]
            assert [getattr(one, "shape", None) for one in inputs] == expected
            with torch.no_grad():
                module.Model(*module.get_init_inputs())(*inputs)
            ran += 1
    assert ran >= 12


def test_kernelbench_files_are_numbered_within_their_level(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    folder = exported(problems, tmp_path, "kernelbench")
    for level in folder.glob("level*"):
        numbers = sorted(int(path.name.split("_")[0]) for path in level.glob("*.py"))
        assert numbers == list(range(1, len(numbers) + 1))
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py"))
    assert all(name.isascii() for name in names)
    again = exported(problems[::-1], tmp_path / "again", "kernelbench")
    assert names == sorted(str(path.relative_to(again)) for path in again.rglob("*.py"))


def test_training_never_sees_a_held_out_shape(problems: kernelset.Problems, tmp_path: Path) -> None:
    held_out = {s.shape_id for one in problems for s in one.shapes if s.held_out}
    train = (exported(problems, tmp_path, "jsonl") / "train.jsonl").read_text("utf-8")
    assert held_out and not any(one in train for one in held_out)
    export(problems, SAMPLE, Request("jsonl", "held-out"), tmp_path / "hidden")
    lines = (tmp_path / "hidden" / "train.jsonl").read_text("utf-8").splitlines()
    shapes = [shape for line in lines for shape in json.loads(line)["shapes"]]
    assert shapes and all(shape["held_out"] for shape in shapes)


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_made_twice_is_the_same(
    problems: kernelset.Problems, tmp_path: Path, to: str
) -> None:
    one, two = exported(problems, tmp_path / "a", to), exported(problems, tmp_path / "b", to)
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in files)


def test_a_folder_with_other_things_is_not_replaced(
    problems: kernelset.Problems, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageError, match="holds other things"):
        export(problems, SAMPLE, Request("jsonl"), tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    exported(problems, tmp_path, "jsonl")
    exported(problems[:2], tmp_path, "jsonl")  # an earlier export is
    assert not (tmp_path / "jsonl" / "validation.jsonl").exists()


def test_the_prompt_comes_from_a_file(problems: kernelset.Problems, tmp_path: Path) -> None:
    template = tmp_path / "prompt.j2"
    template.write_text("{{ name }} of {{ level }} at {{ shapes[0].sizes[0].name }}")
    export(problems, SAMPLE, Request("jsonl", prompt=Prompt(template)), tmp_path / "out")
    row = json.loads((tmp_path / "out" / "train.jsonl").read_text("utf-8").splitlines()[1])
    problem = problems[1]
    size = next(iter(problem.shape().sizes))
    assert row["prompt"] == f"{problem.name} of {problem.level} at {size}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ speed }}", "'speed' is undefined; there are: problem_id"),
        ("a\n{% for %}", "line 2: "),
        (None, "no template can be read there"),
    ],
)
def test_a_bad_template_is_one_line(
    problems: kernelset.Problems, tmp_path: Path, text: str | None, message: str
) -> None:
    template = tmp_path / "prompt.j2"
    if text is not None:
        template.write_text(text)
    with pytest.raises(UsageError, match=message):
        export(problems, SAMPLE, Request("jsonl", prompt=Prompt(template)), tmp_path / "out")


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stages", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_it_wrote_and_what_it_can_not(tmp_path: Path) -> None:
    done = command(
        "export", "--to", "trl", "--release", SAMPLE, "--levels", "L5", "--out", tmp_path / "t"
    )
    assert done.returncode == 0 and f"{rows_of('L5')} train, format trl" in done.stdout, done.stderr
    done = command("export", "--to", "csv", "--release", SAMPLE, "--out", tmp_path / "c")
    assert done.returncode == 2 and "one of kernelbench, verl, trl" in done.stderr
    assert not (tmp_path / "c").exists()
