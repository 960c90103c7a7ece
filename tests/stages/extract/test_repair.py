"""Errors are read as hints, each tried on a class that needs it."""

from pathlib import Path

import pytest

from stages.extract.prober.attempt import Outcome
from stages.extract.prober.repair import _met
from stages.extract.prober.state import Input, State
from tests.stages.extract.helpers import extract, one_kept

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


@pytest.mark.parametrize(
    ("mine", "theirs", "dims", "expected"),
    [
        ((4, 56, 112), (4, 80, 512), (4, 56, 112), (4, 80, 512)),
        ((4, 1, 1, 56), (4, 8, 80, 72), (4, 56), (4, 72)),
        ((3, 7), (4, 80), (4, 56), None),
    ],
)
def test_an_input_that_meets_another_tensor_takes_its_shape(
    mine: tuple[int, ...],
    theirs: tuple[int, ...],
    dims: tuple[int, ...],
    expected: tuple[int, ...] | None,
) -> None:
    state = State(inputs=(Input("x", dims=dims),))
    message = (
        "The size of tensor a (1) must match the size of tensor b (2) at non-singleton dimension 2"
    )
    failed = Outcome(False, 2, message=message, shapes=[theirs, mine])
    found = [one.inputs[0].dims for one in _met(state, failed) if one.inputs]
    assert found[:1] == ([] if expected is None else [expected])


CLASSES = {
    "two sides of a picture in a sequence": """
class Local(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)

    def forward(self, x, size):
        b, n, c = x.shape
        return self.conv(x.transpose(1, 2).reshape(b, c, size[0], size[1]))
""",
    "a flag": """
class Flagged(nn.Module):
    def forward(self, x, double):
        if double:
            return x * 2
        return x * 3
""",
    "a patch embedding that steps over its picture": """
class Patches(nn.Module):
    def __init__(self, dim=1024):
        super().__init__()
        self.conv = nn.Conv3d(3, dim, (2, 16, 16), (2, 16, 16))

    def forward(self, frames):
        return self.conv(frames.permute(0, 2, 1, 3, 4))
""",
    "weights that nobody fetches": """
class Trained(nn.Module):
    def __init__(self, dim, pretrained=True):
        super().__init__()
        self.mix = nn.Linear(dim, dim)
        if pretrained:
            self.load_state_dict(torch.hub.load_state_dict_from_url("weights"))

    def forward(self, x):
        return self.mix(x)
""",
    "a default between plain tensors and a result that is none": """
class Outer(nn.Module):
    def forward(self, x, flag=False, pairs=None):
        one, other = pairs
        return {"a": x + one * other, "b": one}
""",
    "a lazy layer": """
class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.LazyLinear(64)

    def forward(self, x):
        return self.mix(x)
""",
    "a model too large as its defaults are": """
class Large(nn.Module):
    def __init__(self, hidden_size=8192, num_layers=40):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(hidden_size, hidden_size) for _ in range(num_layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_needs(name: str, tmp_path: Path) -> None:
    one_kept(extract(HEAD + CLASSES[name], tmp_path))
