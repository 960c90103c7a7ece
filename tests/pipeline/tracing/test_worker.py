"""Which tensors a program is traced with, and that its facts do not depend on it."""

from typing import Any

import pytest

from pipeline.tracing import worker

RATES = """
import torch

class Model(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]
        self.norm = torch.nn.BatchNorm1d(dim)
        self.mix = torch.nn.Linear(dim, dim)
        self.scale = 1 - rates[-1]

    def forward(self, x):
        return torch.relu(self.mix(self.norm(x))) * self.scale

def get_inputs():
    return [torch.randn(8, 16)]

def get_init_inputs():
    return [16]
"""
PLAIN = RATES.replace("rate.item() for rate in torch.linspace(0, 0.5, 3)", "0.0, 0.25, 0.5")
READS = PLAIN.replace("* self.scale", "* x.max().item()")


def answer(code: str, kind: str = "fake", **more: Any) -> dict[str, Any]:
    request = {"codes": [code], "kind": kind, "most_calls": 1000, **more}
    return worker.handle(request)["answers"][0]


def known(code: str, **changes: Any) -> dict[str, Any]:
    told = answer(code, "real")
    names = ("flops", "flops_matrix", "bytes_unfused", "working_set")
    facts = {name: told[name] for name in names} | {"ops": dict(told["ops"])}
    return {"code": code, "facts": facts | changes}


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of tensors that programs were traced with, in order."""
    names: list[str] = []
    for name in ("faking", "on_meta"):
        tensors = getattr(worker, name)
        monkeypatch.setattr(worker, name, lambda n=name, t=tensors: (names.append(n), t())[1])
    return names


@pytest.mark.parametrize("code", [PLAIN, RATES])
def test_facts_are_the_same_for_real_fake_and_meta_tensors(code: str, used: list[str]) -> None:
    real = answer(code, "real")
    del real["finite"]
    assert answer(code) == real
    assert answer(code, known=known(code)) == real | {"quick": True}
    assert used == ["faking", "on_meta", "on_meta"]  # once fakes; the trial and the trace


def test_meta_tensors_are_believed_only_if_they_give_what_is_known(used: list[str]) -> None:
    assert answer(PLAIN, known=known(PLAIN, flops=1))["quick"] is False
    assert used == ["on_meta", "faking"]


@pytest.mark.parametrize(("quick", "tensors"), [(True, "on_meta"), (False, "faking")])
def test_what_an_earlier_answer_said_of_meta_tensors_spares_the_trial(
    quick: bool, tensors: str, used: list[str]
) -> None:
    assert answer(PLAIN, known=known(PLAIN), quick=quick)["quick"] is quick
    assert used == [tensors]


def test_what_fails_with_meta_tensors_is_asked_of_fakes(used: list[str]) -> None:
    assert answer(READS, known=known(PLAIN))["fault"] == "needs_data"
    assert used == ["on_meta", "on_meta", "faking"]
