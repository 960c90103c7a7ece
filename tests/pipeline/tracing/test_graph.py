"""One computation, one fingerprint; another computation, another."""

import itertools

import pytest
import torch

from pipeline.tracing import graph
from pipeline.tracing.ask import trace
from pipeline.tracing.program import Program
from pipeline.tracing.record import faking, record_forward
from tests.stages.validate.programs import program

LINEAR = "self.linear = nn.Linear(D, D)"
WEIGHTS = "self.w = nn.Parameter(torch.randn(D, D))\nself.b = nn.Parameter(torch.randn(D))"
SEQUENCE = "[torch.randn(B, 16, D)]"

SAME = {
    "linear then silu": [
        program("return F.silu(self.linear(x))", init=LINEAR),
        program("h = self.linear(x)\nreturn h * torch.sigmoid(h)", init=LINEAR),
        program("h = F.linear(x, self.w, self.b)\nreturn torch.sigmoid(h).mul(h)", init=WEIGHTS),
        program(
            "h = torch.einsum('bd,ed->be', x, self.w).add_(self.b)\nreturn h * h.sigmoid()",
            init=WEIGHTS,
        ),
        program(
            "return nn.Sequential(self.linear, nn.SiLU(), nn.Dropout().eval())(x)", init=LINEAR
        ),
        program(
            "unused = x.cos()\nh = x.reshape(B, 1, D) @ self.w.T\nh = (self.b + h).squeeze(1)\n"
            "return F.silu(h, inplace=True)",
            init=WEIGHTS,
        ),
    ],
    "attention": [
        program("return F.scaled_dot_product_attention(x, x.cos(), x.sin())", inputs=SEQUENCE),
        program(
            "w = (x @ x.cos().transpose(1, 2) / math.sqrt(D)).softmax(-1)\nreturn w @ x.sin()",
            inputs=SEQUENCE,
        ),
        program(
            "w = F.softmax(torch.einsum('bqd,bkd->bqk', x * D ** -0.5, x.cos()), dim=-1)\n"
            "return torch.bmm(w, torch.sin(x))",
            inputs=SEQUENCE,
        ),
    ],
    "layer norm": [
        program("return self.norm(x)", init="self.norm = nn.LayerNorm(D)"),
        program(
            "m = x.mean(-1, keepdim=True)\nv = (x - m).pow(2).mean(-1, keepdim=True)\n"
            "return self.g * ((x - m) / torch.sqrt(v + 1e-6)) + self.h",
            init="self.g = nn.Parameter(torch.rand(D))\nself.h = nn.Parameter(torch.rand(D))",
        ),
        program("return self.norm(x)", init="self.norm = nn.LayerNorm(D, bias=False)"),
        program("return self.norm(x)", init="self.norm = nn.LayerNorm((B, D))"),
        program(
            "return F.layer_norm(x, (D,)) * (1 + self.g)",
            init="self.g = nn.Parameter(torch.zeros(D))",
        ),
        program(
            "return torch.addcmul(self.h, F.layer_norm(x, (D,)), self.g.exp())",
            init="self.g = nn.Parameter(torch.zeros(D))\nself.h = nn.Parameter(torch.zeros(1, D))",
        ),
    ],
    "batch norm": [
        program("return self.norm(x)", init="self.norm = nn.BatchNorm1d(D)"),
        program("return self.norm(x)", init="self.norm = nn.BatchNorm1d(D, affine=False)"),
    ],
    "layer scale": [
        program("return x + self.g * x.tanh()", init="self.g = nn.Parameter(torch.ones(D))"),
        program("return x + x.tanh()"),
    ],
    "writing into a fresh tensor": [
        program("return torch.tanh(x) + 1"),
        program("out = torch.empty_like(x)\nout.copy_(x.tanh())\nout += 2\nreturn out"),
    ],
    "division with a guard or without": [
        program("return x / torch.norm(x, dim=1, keepdim=True)"),
        program("return F.normalize(x, dim=1)"),
        program("return x / x.norm(dim=1, keepdim=True).clamp(min=1e-5)"),
        program("return x / (x.norm(dim=1, keepdim=True) + 1e-6)"),
    ],
    "an activation by two names": [program("return F.elu(x)"), program("return F.celu(x)")],
    "split in one way or another": [
        program("a, b = x.chunk(2, -1)\nreturn a * b.sigmoid()"),
        program("return torch.sigmoid(x[:, D // 2 :]) * x[:, : D // 2]"),
        program("a, b = x.view(B, 2, -1).unbind(1)\nreturn a.mul(torch.sigmoid(b))"),
    ],
}


def fingerprint(code: str, *, fake: bool = True) -> str:
    loaded = Program(code)

    def trace() -> str:
        model = loaded.model()
        with torch.no_grad():
            return graph.fingerprint(record_forward(model, loaded.inputs()))

    if not fake:
        return trace()
    with faking():
        return trace()


@pytest.mark.parametrize("name", SAME)
def test_the_same_computation_written_differently_has_one_fingerprint(name: str) -> None:
    assert len({fingerprint(code) for code in SAME[name]}) == 1


@pytest.mark.parametrize("name", SAME)
def test_sizes_do_not_show(name: str) -> None:
    for code in SAME[name]:
        assert fingerprint(code.replace("B = 8", "B = 64").replace("D = 32", "D = 96")) == (
            fingerprint(code)
        )


@pytest.mark.parametrize("name", SAME)
def test_fakes_and_real_tensors_agree(name: str) -> None:
    for code in SAME[name]:
        assert fingerprint(code, fake=True) == fingerprint(code, fake=False)


def test_different_computations_have_different_fingerprints() -> None:
    bodies = [
        "return x.tanh()", "return x.sigmoid()", "return x.relu()", "return x.exp() + x",
        "return x + x.exp().sum()", "return x.exp().sum(1)", "return x.exp().sum()",
        "return x.softmax(1)", "return x.log_softmax(1)", "return x.pow(2)", "return x.pow(3)",
        "return x.clamp(min=-1)", "return x.clamp(-1, 1)", "return x @ x.T", "return (x @ x.T) @ x",
        "return x.amax(1)", "return x.sort(1).values", "return x.cumsum(1)", "return x[:, 1:].exp()",
        "return x[:, :-1].exp()", "return x.exp(), x.sin()", "return x.sin(), x.exp()",
        "return x.exp() * x.sin()", "return x.exp() / x.sin()", "return x.exp() - x.sin()",
        "return F.gelu(x)", "return F.gelu(x, approximate='tanh')", "return x * x.sigmoid()",
        "a, b = x.chunk(2, 1)\nreturn a * b.sigmoid()", "return x.norm()", "return x.std(1)",
        "return torch.where(x > 0, x, x.exp())", "return torch.cat([x, x.exp()])",
    ]  # fmt: skip
    prints = {body: fingerprint(program(body)) for body in bodies}
    for one, other in itertools.combinations(bodies, 2):
        assert prints[one] != prints[other], (one, other)


def test_a_learned_vector_is_no_operand_and_any_other_tensor_is_one() -> None:
    plain = fingerprint(program("return x.tanh()"))
    for init in ("nn.Parameter(torch.ones(D))", "nn.Parameter(torch.tensor(2.0))"):
        assert fingerprint(program("return x.tanh() / self.g", init=f"self.g = {init}")) == plain
    for init in ("nn.Parameter(torch.ones(B, D))", "nn.Buffer(torch.ones(D))"):
        assert fingerprint(program("return x.tanh() / self.g", init=f"self.g = {init}")) != plain


def test_convolutions_differ_by_kind_and_not_by_kernel() -> None:
    def conv(layer: str) -> str:
        return fingerprint(
            program(
                "return self.c(x)", init=f"self.c = {layer}", inputs="[torch.randn(2, 8, 16, 16)]"
            )
        )

    assert conv("nn.Conv2d(8, 8, 3)") == conv("nn.Conv2d(8, 16, 5, stride=2, padding=1)")
    kinds = ["nn.Conv2d(8, 8, 3)", "nn.Conv2d(8, 8, 3, groups=8)", "nn.Conv2d(8, 8, 3, groups=2)",
             "nn.ConvTranspose2d(8, 8, 3)"]  # fmt: skip
    assert len({conv(kind) for kind in kinds}) == len(kinds)


def test_an_input_as_large_as_a_benchmarks_costs_nothing() -> None:
    small = program("return x @ x", inputs="[torch.randn(D, D)]")
    assert fingerprint(small.replace("D = 32", "D = 32768")) == fingerprint(small)


def test_a_bias_does_not_make_another_problem() -> None:
    def written(layers: str) -> str:
        return (
            "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            f"        self.net = nn.Sequential({layers})\n\n"
            "    def forward(self, x):\n        return self.net(x)\n\n\n"
            "def get_inputs():\n    return [torch.randn(2, 3, 8, 8)]\n\n\n"
            "def get_init_inputs():\n    return []\n"
        )

    def graph_of(bias: bool) -> str:
        layers = f"nn.Conv2d(3, 4, 3, bias={bias}), nn.ReLU(), nn.Linear(6, 5, bias={bias})"
        told = trace(written(layers))
        assert isinstance(told, dict), told
        return str(told["graph_sha256"])

    assert graph_of(True) == graph_of(False)
