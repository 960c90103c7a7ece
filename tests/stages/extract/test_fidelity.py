"""An extracted program computes what the original class computes, bit for bit."""

from pathlib import Path

import pytest

from benchmarks.fidelity import compared, package_rows, programs_of
from pipeline.stage import Kept
from tests.stages.extract.helpers import extract

AT_LEAST = {
    "activation": 20,
    "normalization": 3,
    "dropout": 0,
    "pixelshuffle": 2,
    "distance": 2,
    "fold": 1,
}


@pytest.mark.parametrize("name", AT_LEAST)
def test_programs_from_torchs_own_modules_give_torchs_own_outputs(
    name: str, tmp_path: Path
) -> None:
    import torch

    path = f"torch/nn/modules/{name}.py"
    text = (Path(torch.__file__).parent.parent / path).read_text()
    kept = [one.columns for one in extract(text, tmp_path, {}, path) if isinstance(one, Kept)]
    assert len(kept) >= AT_LEAST[name]
    for columns in kept:
        program: dict[str, object] = {}
        exec(columns["code"], program)
        original = getattr(torch.nn, columns["class_name"])
        assert torch.equal(_output(program["Model"], program), _output(original, program)), columns[
            "class_name"
        ]


def _output(model_class, program):  # type: ignore[no-untyped-def]
    import torch

    torch.manual_seed(0)
    model = model_class(*program["get_init_inputs"]())
    torch.manual_seed(1)
    output = model(*program["get_inputs"]())
    return output[0] if isinstance(output, tuple) else output


MODELS = ("convnext", "gemma")
"""A picture model, and a decoder with rotary embeddings."""


def test_programs_from_transformers_give_its_own_outputs(tmp_path: Path) -> None:
    rows = {row["path"]: row for row in package_rows("transformers", tmp_path)}
    for name in MODELS:
        path = f"transformers/models/{name}/modeling_{name}.py"
        verdicts = {
            columns["class_name"]: compared(path, columns)
            for columns in programs_of(rows[path], tmp_path)
        }
        assert sum(verdict == "equal" for verdict in verdicts.values()) >= 4, verdicts
        assert "differs" not in verdicts.values(), verdicts
