"""No false alarms: ordinary modules are kept, with facts that can be used."""

import pytest

from pipeline.stage import Kept
from tests.stages.validate.conftest import Validate
from tests.stages.validate.programs import program

SEQUENCE = "[torch.randn(2, 16, D)]"
IMAGE = "[torch.randn(2, 8, 16, 16)]"
GOOD = {
    "an activation": program("return F.gelu(x)"),
    "a tiny scale": program("return torch.softmax(x.view(1, -1), 1) ** 2"),
    "a huge scale": program("return (x * 1e6) ** 2"),
    "a mean loss": program(
        "return F.mse_loss(x, y)",
        arguments="x, y",
        inputs="[torch.randn(64, D), torch.randn(64, D)]",
    ),
    "a loss with labels": program(
        "return F.cross_entropy(x, y)",
        arguments="x, y",
        inputs="[torch.randn(B, D), torch.randint(0, D, (B,))]",
    ),
    "an embedding": program(
        "return self.table(x) * 2",
        init="self.table = nn.Embedding(100, D)",
        inputs="[torch.randint(0, 100, (B, 16))]",
    ),
    "a convolution with batch norm and dropout": program(
        "return F.relu(self.drop(self.norm(self.conv(x))))",
        init="self.conv = nn.Conv2d(8, 8, 3)\nself.norm = nn.BatchNorm2d(8)\nself.drop = nn.Dropout(0.1)",
        inputs=IMAGE,
    ),
    "attention of torch, weights dropped": program(
        "return self.attention(x, x, x)[0]",
        init="self.attention = nn.MultiheadAttention(D, 4, batch_first=True)",
        inputs=SEQUENCE,
    ),
    "a dropout that only lends its probability": program(
        "p = self.drop.p if self.training else 0.0\n"
        "return F.scaled_dot_product_attention(x, x * 2, x * 3, dropout_p=p)",
        init="self.drop = nn.Dropout(0.1)",
        inputs=SEQUENCE,
    ),
    "attention with a causal mask": program(
        "s = (x @ x.transpose(1, 2)) / math.sqrt(D)\n"
        "mask = torch.triu(torch.ones(16, 16, dtype=torch.bool), 1)\n"
        "return s.masked_fill(mask, float('-inf')).softmax(-1) @ x",
        inputs=SEQUENCE,
    ),
    "a recurrent layer": program(
        "return self.rnn(x)[0]", init="self.rnn = nn.GRU(D, D, batch_first=True)", inputs=SEQUENCE
    ),
    "a loop that writes into a result": program(
        "out = torch.zeros_like(x)\nstate = torch.zeros(2, D)\nfor t in range(16):\n"
        "    state = 0.9 * state + x[:, t]\n    out[:, t] = state.tanh()\nreturn out",
        inputs=SEQUENCE,
    ),
    "experts chosen by data": program(
        "best = self.gate(x).argmax(-1)\nout = torch.zeros_like(x)\n"
        "for k, expert in enumerate(self.experts):\n    chosen = best == k\n"
        "    if chosen.any():\n        out[chosen] = expert(x[chosen])\nreturn out",
        init="self.gate = nn.Linear(D, 3)\n"
        "self.experts = nn.ModuleList(nn.Linear(D, D) for _ in range(3))",
        inputs="[torch.randn(64, D)]",
    ),
    "a checked one-hot": program(
        "return F.one_hot(y, D) * F.log_softmax(x, -1)",
        arguments="x, y",
        inputs="[torch.randn(B, D), torch.randint(0, D, (B,))]",
    ),
    "a rotation with a fixed table": program(
        "return x * self.cos + torch.cat([-x[..., D // 2 :], x[..., : D // 2]], -1) * self.sin",
        init="self.register_buffer('cos', torch.rand(16, D))\n"
        "self.register_buffer('sin', torch.rand(16, D))",
        inputs=SEQUENCE,
    ),
    "ranks": program("return x.topk(4, dim=-1).indices"),
    "several outputs": program("return x.exp(), x.sum(1)"),
    "a named tuple": program("return torch.sort(x * 2, dim=-1)"),
    "an input of booleans": program(
        "return torch.where(keep, x.exp(), x.sin())",
        arguments="x, keep",
        inputs="[torch.randn(B, D), torch.rand(B, D) > 0.5]",
    ),
    "a number among the inputs": program(
        "return x.exp() * s", arguments="x, s", inputs="[torch.randn(B, D), 3.14]"
    ),
    "its own casts": program(
        "return (x.float().pow(2).mean(-1, True) + 1e-6).rsqrt().type_as(x) * x"
    ),
    "a frozen and annotated config": program(
        "return F.silu(x) * self.config.scale",
        init="self.config = Config()",
        top="from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config:\n"
        "    scale: 'float' = 2.0",
    ),
    "words that only look secret or personal": program(
        "# hidden@weight.T, x@w.to(device); see git@github.com:pytorch/pytorch.git and @torch.no_grad\n"
        "token, key, password_mask = x, x.T, x > 0\n"
        "return (token @ key).exp() * password_mask.float().sum() + self.seed % 7",
        init="self.seed = 0x9E3779B97F4A7C15  # sha 9e107d9d372bb6826bd81d3542a419d6\n"
        "self.token_name = '<|endoftext|>'",
    ),
    "memory that is written before it is read": program(
        "out = torch.empty_like(x)\nout[:, ::2] = x[:, ::2].sin()\nout[:, 1::2] = x[:, 1::2].cos()\n"
        "return out * self.weight",
        init="self.weight = nn.Parameter(torch.empty(D))\nnn.init.normal_(self.weight)",
    ),
    "a set of strings that is only asked": program(
        "return x.exp() if self.kind in {'exp', 'exp2', 'expm1'} else x.sin()",
        init="self.kind = 'exp'",
    ),
    "no bfloat16": program("return torch.linalg.inv(x @ x.T + 20 * torch.eye(B))"),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_ordinary_module_is_kept(name: str, validate: Validate) -> None:
    outcome = validate(GOOD[name])
    assert isinstance(outcome, Kept), outcome


def test_the_facts_fill_every_column_of_the_schema(validate: Validate) -> None:
    from schemas.problem import FACTS

    outcome = validate(GOOD["an activation"])
    assert isinstance(outcome, Kept)
    assert set(outcome.columns) == {field.name for field in FACTS}
    for field in FACTS:
        assert field.nullable or outcome.columns[field.name] is not None, field.name


def test_the_published_tolerance_scales_with_the_output(validate: Validate) -> None:
    small, large = (validate(program(f"return F.gelu(x) * {k}")) for k in ("1e-6", "1e6"))
    assert isinstance(small, Kept) and isinstance(large, Kept)
    assert small.columns["rtol"] == large.columns["rtol"] == 1e-4
    assert large.columns["atol"] / small.columns["atol"] == pytest.approx(1e12, rel=1e-3)


FLAGS = {
    "random_in_training": GOOD["a convolution with batch norm and dropout"],
    "training_differs": GOOD["a convolution with batch norm and dropout"],
    "redundant_op:relu": program("return F.relu(F.relu(x) + 0.1) * x"),
    "dead_op_of_torch": GOOD["attention of torch, weights dropped"],
    "depends_on_data:_local_scalar_dense": GOOD["experts chosen by data"],
    "no_bfloat16": GOOD["no bfloat16"],
    "many_outputs": GOOD["several outputs"],
    "keeps_attributes": program("self.last = x.shape[0] + id(x)\nreturn x.exp()"),
    "not_finite_for:negated": program("return x.log()", inputs="[torch.rand(B, D) + 0.1]"),
    "identity_parameter": program("return self.norm(x)", init="self.norm = nn.LayerNorm(D)"),
    "fixed_input": program(
        "return x * p", arguments="x, p", inputs="[torch.randn(B, D), torch.arange(D)]"
    ),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_what_is_worth_knowing_is_flagged(flag: str, validate: Validate) -> None:
    outcome = validate(FLAGS[flag])
    assert isinstance(outcome, Kept), outcome
    assert flag in outcome.columns["flags"]
