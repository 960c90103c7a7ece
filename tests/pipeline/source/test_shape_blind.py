"""The shape-blind form: one form for one computation, two forms for two."""

import textwrap

import pytest

from pipeline.source.shape_blind import shape_blind_digest, shape_blind_form

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def model(forward: str, init: str = "pass", arguments: str = "x", settings: str = "") -> str:
    """A program whose Model has these bodies."""
    return (
        HEAD
        + f"class Model(nn.Module):\n    def __init__(self{settings}):\n        super().__init__()\n"
        + textwrap.indent(init, " " * 8)
        + f"\n    def forward(self, {arguments}):\n"
        + textwrap.indent(forward, " " * 8)
        + "\ndef get_inputs():\n    return [torch.rand(8, 16)]\n"
        + "def get_init_inputs():\n    return []\n"
    )


SAME = {
    "local names": (model("y = x.exp()\nreturn y + x"), model("e = b.exp()\nreturn e + b", arguments="b")),
    "sizes": (
        model("return self.a(x)", "self.a = nn.Linear(8, 16)"),
        model("return self.a(x)", "self.a = nn.Linear(512, 1024)"),
    ),
    "constants and arguments": (
        model("return self.a(x)", "self.a = nn.Linear(8, 16)"),
        "WIDTH = 4\n" + model("return self.a(x)", "self.a = nn.Linear(n, 4 * n)", settings=", n=WIDTH"),
    ),
    "attribute names": (
        model("return self.a(x)", "self.a = nn.Linear(8, 16)"),
        model("return self.proj(x)", "self.proj = nn.Linear(8, 16)"),
    ),
    "module and function": (
        model("return self.act(x)", "self.act = nn.ReLU()"),
        model("return F.relu(x)"),
    ),
    "function and method": (model("return torch.relu(x)"), model("return x.relu()")),
    "in place": (model("return F.relu(x, inplace=True)"), model("return x.relu_()")),
    "module with an argument": (
        model("return self.s(x)", "self.s = nn.Softmax(dim=1)"),
        model("return F.softmax(x, dim=-1)"),
    ),
    "operator and function": (
        model("return x @ y + x", arguments="x, y"),
        model("return torch.add(torch.matmul(x, y), x)", arguments="x, y"),
    ),
    "augmented assignment": (model("x += 1\nreturn x"), model("return x + 1")),
    "sequential": (
        model("return self.net(x)", "self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())"),
        model("return torch.relu(self.fc(x))", "self.fc = nn.Linear(8, 8)"),
    ),
    "temporaries": (model("a = x.exp()\nb = a.sum()\nreturn b"), model("return x.exp().sum()")),
    "keyword order": (
        model("return F.pad(x, mode='reflect', pad=(1, 1))"),
        model("return F.pad(x, pad=(2, 2), mode='reflect')"),
    ),
    "import style": (model("return F.gelu(x)"), model("return torch.nn.functional.gelu(x)")),
    "hints, asserts and docstrings": (
        model("return x.exp()"),
        model("'''Doc.'''\nassert x.ndim == 2\nreturn x.exp()", arguments="x: torch.Tensor"),
    ),
    "letters of einsum": (
        model("return torch.einsum('bij,bjk->bik', x, x)"),
        model("return torch.einsum('nxy,nyz->nxz', x, x)"),
    ),
    "dead methods": (
        model("return x.exp()"),
        model("return x.exp()").replace("    def forward", "    def spare(self):\n        return 1\n    def forward"),
    ),
    "unused parent": (
        model("return x.exp()"),
        model("return x.exp()").replace(
            "class Model(nn.Module)", "class Base(nn.Module):\n    pass\nclass Model(Base)"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_one_computation_has_one_form(case: str) -> None:
    one, other = SAME[case]
    assert shape_blind_form(one) == shape_blind_form(other)


WRAPPER = HEAD + (
    "class Wrapper(nn.Module):\n    def __init__(self, fn):\n        super().__init__()\n"
    "        self.fn = fn\n    def forward(self, x):\n        return self.fn(x) + x\n"
)

DIFFERENT = {
    "operation": (model("return x.exp()"), model("return x.log()")),
    "order of operations": (model("return x.exp().sum()"), model("return x.sum().exp()")),
    "order of operands": (model("return x - y", arguments="x, y"), model("return y - x", arguments="x, y")),
    "number minus tensor": (model("return 2 - x"), model("return x - 2")),
    "string": (
        model("return F.interpolate(x, size=4, mode='nearest')"),
        model("return F.interpolate(x, size=4, mode='bilinear')"),
    ),
    "boolean": (
        model("return self.a(x)", "self.a = nn.Linear(8, 8, bias=False)"),
        model("return self.a(x)", "self.a = nn.Linear(8, 8)"),
    ),
    "grouped convolution": (
        model("return self.a(x)", "self.a = nn.Conv2d(8, 8, 3)"),
        model("return self.a(x)", "self.a = nn.Conv2d(8, 8, 3, groups=8)"),
    ),
    "depth": (
        model("return self.b(self.a(x))", "self.a = nn.Linear(8, 8)\nself.b = nn.Linear(8, 8)"),
        model("return self.a(x)", "self.a = nn.Linear(8, 8)"),
    ),
    "einsum equation": (
        model("return torch.einsum('bij,bjk->bik', x, x)"),
        model("return torch.einsum('bij,bkj->bik', x, x)"),
    ),
    "a value from before and one from after": (
        model("y = x.exp()\nx = x.log()\nreturn y + x * x"),
        model("x = x.log()\ny = x.exp()\nreturn y + x * x"),
    ),
    "what a wrapper wraps": (
        WRAPPER + model("return self.a(x)", "self.a = Wrapper(nn.ReLU())"),
        WRAPPER + model("return self.a(x)", "self.a = Wrapper(nn.Tanh())"),
    ),
    "choice in a config class": (
        "class Config:\n    act = 'relu'\n" + model("return x").replace("return []", "return [Config()]"),
        "class Config:\n    act = 'tanh'\n" + model("return x").replace("return []", "return [Config()]"),
    ),
    "choice among the constructor's values": (
        model("return x.sum()").replace("return []", "return ['mean']"),
        model("return x.sum()").replace("return []", "return ['sum']"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_two_computations_have_two_forms(case: str) -> None:
    one, other = DIFFERENT[case]
    assert shape_blind_form(one) != shape_blind_form(other)


def test_a_constant_that_mentions_itself_ends() -> None:
    shape_blind_form("n = 4\nn = n + f(n)\n" + model("return x * n"))


def test_attributes_that_double_at_every_step_stay_small() -> None:
    init = "self.a0 = nn.Linear(2, 2)\n" + "\n".join(
        f"self.a{i} = wrap(self.a{i - 1}, self.a{i - 1})" for i in range(1, 40)
    )
    assert len(shape_blind_form(model("return self.a39(x)", init))) < 200_000


def test_text_that_is_not_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        shape_blind_digest("def (")


def test_code_without_a_class_has_a_form_too() -> None:
    assert shape_blind_form("y = f(1)") == shape_blind_form("z = f(2)")
