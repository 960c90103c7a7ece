"""A server with other surroundings: what hangs on the hash seed or on unwritten memory shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sandbox import Reply, Sandbox, Surroundings, shared_sandbox

WORKER = Path(__file__).parent / "worker.py"
HASH = "def run(): return [hash('a'), list({'in', 'out', 'gate'}), __import__('os').environ['PYTHONHASHSEED']]"
MEMORY = "def run(): return [len(set(torch.empty(4096).tolist())), torch.empty(2**20)[:2].tolist()]"


@pytest.fixture(scope="module")
def usual() -> Iterator[Sandbox]:
    with Sandbox(WORKER) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def other() -> Iterator[Sandbox]:
    with Sandbox(WORKER, surroundings=Surroundings(1, soiled_memory=True)) as sandbox:
        yield sandbox


def value(sandbox: Sandbox, source: str) -> object:
    outcome = sandbox.run({"source": source})
    assert isinstance(outcome, Reply), outcome
    return outcome.value["value"]


def test_strings_hash_and_sets_order_by_the_servers_seed(usual: Sandbox, other: Sandbox) -> None:
    assert value(usual, HASH) == value(usual, HASH)
    assert value(usual, HASH) != value(other, HASH)
    assert value(other, HASH)[2] == "1"  # type: ignore[index]


def test_new_memory_of_a_soiled_server_is_one_large_number(other: Sandbox) -> None:
    assert value(other, MEMORY) == [1, [pytest.approx(3.3961e38, rel=1e-3)] * 2]


def test_shared_sandboxes_are_told_apart_by_their_surroundings() -> None:
    usual = shared_sandbox(WORKER)
    assert usual is not shared_sandbox(WORKER, surroundings=Surroundings(hash_seed=1))
    assert usual is shared_sandbox(WORKER, surroundings=Surroundings())
