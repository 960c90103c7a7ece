"""numpy on arrays becomes functions on tensors that give the same numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stages.extract.arrays import WRITTEN
from tests.stages.extract.helpers import extract, one_kept, reasons

HEAD = "import numpy as np\nimport torch\nimport torch.nn as nn\n\n"


@pytest.fixture(scope="module")
def space() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec("import math\nimport torch\n\n" + "\n\n\n".join(WRITTEN.values()), names)
    return names


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("array", ([1.1, 2.0],)),
        ("array", ([[1, 2], [3, 4]],)),
        ("zeros", ((2, 3),)),
        ("ones", (4,)),
        ("eye", (3, 5)),
        ("arange", (7,)),
        ("arange", (-1, 1, 2.0 / 7)),
        ("arange", (0.1, 0.95, 0.1)),
        ("linspace", (-1, 1, 7)),
        ("linspace", (0.3, 17.9, 41)),
        ("linspace", (5, 9, 1)),
    ],
)
def test_the_written_functions_give_numpys_numbers_and_types(
    name: str, arguments: tuple[Any, ...], space: dict[str, Any]
) -> None:
    theirs = torch.from_numpy(getattr(np, name)(*arguments))
    ours = space[f"np_{name}"](*arguments)
    assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


BLUR = """
class Blur(nn.Module):
    def __init__(self, channels):
        super().__init__()
        a = np.array([1.0, 3.0, 3.0, 1.0])
        whole = np.arange(4)
        thirds = (whole - 1) ** 2 / 3.0
        steps = np.stack([np.linspace(0, 1, 4), thirds, whole.copy() / 7]).astype(np.float32)
        filt = torch.Tensor(a[:, None] * a[None, :])
        self.register_buffer("filt", (filt / filt.sum())[None, None].repeat(channels, 1, 1, 1))
        self.register_buffer("steps", torch.from_numpy(steps))
        self.channels = channels

    def forward(self, x):
        x = nn.functional.conv2d(x, self.filt, groups=self.channels)
        return x * self.steps.sum()
"""


def test_a_class_with_arrays_computes_what_it_computed(tmp_path: Path) -> None:
    row = one_kept(extract(HEAD + BLUR, tmp_path))
    assert "numpy" not in str(row["code"])
    assert any("np_linspace" in words for words in row["edits"])  # type: ignore[attr-defined]
    program: dict[str, Any] = {}
    exec(str(row["code"]), program)
    original: dict[str, Any] = {}
    exec(HEAD + BLUR, original)
    (channels,) = program["get_init_inputs"]()
    ours, theirs = program["Model"](channels), original["Blur"](channels)
    assert torch.equal(ours.filt, theirs.filt) and torch.equal(ours.steps, theirs.steps)
    (x,) = program["get_inputs"]()
    assert torch.equal(ours(x), theirs(x))


def test_what_has_no_twin_stays_outside(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Loaded(nn.Module):
    def forward(self, x):
        return x * torch.from_numpy(np.load("weights.npy"))
"""
    )
    assert reasons(extract(text, tmp_path)) == {"Loaded": "outside_dependency"}
