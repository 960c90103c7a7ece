"""A forked child starts as clean as a fresh interpreter: the same facts come out of both.

`python -m benchmarks.validate --problems 300 --fresh 300` asks the same of three hundred programs.
"""

from benchmarks.validate import differences, through_fresh_interpreters, through_the_fork_server
from tests.stages.validate.programs import program

ATTENTION = program(
    "return self.drop(self.attention(x, x, x)[0])",
    init="self.attention = nn.MultiheadAttention(D, 4, batch_first=True)\nself.drop = nn.Dropout(0.5)",
    inputs="[torch.randn(2, 16, D)]",
)
CONVOLUTION = program(
    "return F.gelu(self.norm(self.conv(x)))",
    init="self.conv = nn.Conv2d(8, 8, 3)\nself.norm = nn.BatchNorm2d(8)",
    inputs="[torch.randn(2, 8, 16, 16)]",
)
AT_FAULT = program("return x @ x")


def test_a_forked_child_and_a_fresh_interpreter_see_the_same() -> None:
    codes = [ATTENTION, CONVOLUTION, AT_FAULT, ATTENTION]
    _, forked = through_the_fork_server(codes, workers=1)
    assert differences(forked, through_fresh_interpreters(codes, workers=2)) == []
    assert forked[0].answer == forked[-1].answer  # whatever ran in between
    assert "graph_sha256" in forked[0].answer


def test_a_difference_would_be_named() -> None:
    _, forked = through_the_fork_server([ATTENTION], workers=1)
    fresh = through_fresh_interpreters([CONVOLUTION], workers=1)
    [difference] = differences(forked, fresh)
    assert difference.startswith("0: ")
    assert "digest" in difference
