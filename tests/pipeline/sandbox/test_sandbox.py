"""How a caller lives with the sandbox: answers, limits, crashes of the server, forks, interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pipeline.sandbox import (
    BadMessage,
    Fault,
    Limits,
    RawTensor,
    Reply,
    Sandbox,
    SandboxBroken,
    shared_sandbox,
)
from pipeline.sandbox.inside import codec

from .leftovers import processes_left

WORKER = Path(__file__).parent / "worker.py"
LIMITS = Limits(wall_s=20, memory_mb=2048, processes=16)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(WORKER, LIMITS) as shared:
        yield shared


def value_of(outcome: Reply | Fault) -> object:
    assert isinstance(outcome, Reply), outcome
    return outcome.value["value"]


def test_a_request_comes_back_as_it_was_sent(sandbox: Sandbox) -> None:
    message = {
        "text": "ä" * 5000,
        "nothing": None,
        "list": [1, 2.5, True],
        "raw": bytes(range(256)),
    }
    outcome = sandbox.run({"echo": message})
    assert isinstance(outcome, Reply)
    assert outcome.value == {"echo": message}
    assert outcome.stdout == ""
    assert 0 < outcome.seconds < 20


def test_sixty_four_megabytes_pass_through(sandbox: Sandbox) -> None:
    data = os.urandom(2**20) * 64
    outcome = sandbox.run({"echo": data})
    assert isinstance(outcome, Reply)
    assert outcome.value["echo"] == data


def test_a_request_that_is_too_large_is_refused_before_it_is_sent(sandbox: Sandbox) -> None:
    with pytest.raises(BadMessage):
        sandbox.run({"echo": bytes(100 * 2**20)})
    assert isinstance(sandbox.run({"echo": 1}), Reply)


def test_the_environment_of_a_run_is_ours_alone(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    source = "import os\ndef run(): return dict(os.environ)"
    with Sandbox(WORKER, LIMITS) as fresh:
        environment = value_of(fresh.run({"source": source}))
    assert isinstance(environment, dict)
    assert set(environment) == {
        "HOME", "LANG", "OMP_NUM_THREADS", "PATH", "PYTHONHASHSEED",
        "TMPDIR", "TORCHINDUCTOR_COMPILE_THREADS", "USER",
    }  # fmt: skip


def test_runs_start_from_the_same_random_state_and_hash_seed(sandbox: Sandbox) -> None:
    source = (
        "import random\n"
        "def run(): return [random.random(), float(torch.rand(())), hash('a'), torch.rand(2).tolist()]"
    )
    first, second = (value_of(sandbox.run({"source": source})) for _ in range(2))
    with Sandbox(WORKER, LIMITS) as other:
        third = value_of(other.run({"source": source}))
    assert first == second == third


def test_torch_runs_and_loads_its_late_modules(sandbox: Sandbox) -> None:
    source = (
        "def run():\n"
        "    import inspect, numpy, torch.fx, torch._dynamo\n"
        "    model = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True)\n"
        "    y = model(torch.ones(2, 3, 16)).sum()\n"
        "    y.backward()\n"
        "    inspect.getsource(torch.nn.Linear)\n"
        "    traced = torch.fx.symbolic_trace(torch.nn.Linear(2, 2))\n"
        "    return [bool(torch.isfinite(y)), len(list(traced.graph.nodes))]"
    )
    assert value_of(sandbox.run({"source": source})) == [True, 5]


def test_several_threads_of_torch_work_after_the_fork(sandbox: Sandbox) -> None:
    source = "def run(): return float((torch.ones(1000, 1000) @ torch.ones(1000, 1000)).mean())"
    outcome = sandbox.run({"source": source}, Limits(wall_s=20, threads=2))
    assert value_of(outcome) == 1000.0


def test_a_compiler_runs_where_it_is_allowed(sandbox: Sandbox) -> None:
    if not Path("/usr/bin/g++").exists():
        pytest.skip("no g++")
    source = (
        "import ctypes, subprocess\n"
        "def run():\n"
        "    open('a.cpp', 'w').write('extern \"C\" int answer() { return 42; }')\n"
        "    subprocess.run(['g++', '-shared', '-fPIC', 'a.cpp', '-o', 'a.so'], check=True)\n"
        "    return ctypes.CDLL('./a.so').answer()"
    )
    allowed = Limits(wall_s=20, processes=32, allow_exec=True)
    outcome = sandbox.run({"source": source}, allowed)
    if isinstance(outcome, Fault) and "Operation not permitted" in outcome.detail:
        pytest.skip("root without namespaces may not fork")
    assert value_of(outcome) == 42


def test_an_exception_of_the_worker_is_told_with_its_line(sandbox: Sandbox) -> None:
    outcome = sandbox.run({"source": "def run(): raise KeyError('here')"})
    assert isinstance(outcome, Fault)
    assert outcome.reason == "worker_error"
    assert "KeyError: 'here'" in outcome.detail
    assert 'exec(compile(request["source"]' in outcome.detail or "space" in outcome.detail


def test_two_sandboxes_run_at_once() -> None:
    source = "import time\ndef run():\n time.sleep(1)\n return 1"
    outcomes: list[Reply | Fault] = []

    def use(own: Sandbox) -> None:
        outcomes.append(own.run({"source": source}))

    with Sandbox(WORKER, LIMITS) as first, Sandbox(WORKER, LIMITS) as second:
        assert isinstance(first.run({"echo": 1}), Reply)
        assert isinstance(second.run({"echo": 1}), Reply)
        threads = [threading.Thread(target=use, args=(own,)) for own in (first, second)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - started
    assert [value_of(outcome) for outcome in outcomes] == [1, 1]
    assert seconds < sum(outcome.seconds for outcome in outcomes)


def test_threads_of_one_process_share_a_sandbox(sandbox: Sandbox) -> None:
    results: list[object] = []

    def use(number: int) -> None:
        outcome = sandbox.run({"echo": number})
        results.append(outcome.value["echo"] == number if isinstance(outcome, Reply) else outcome)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 16


def test_a_server_that_was_killed_between_two_runs_is_replaced_in_silence() -> None:
    with Sandbox(WORKER, LIMITS) as own:
        assert isinstance(own.run({"echo": 1}), Reply)
        server = own._server
        assert server is not None
        os.kill(server._process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, server._process.pid, os.WEXITED | os.WNOWAIT)
        assert isinstance(own.run({"echo": 2}), Reply)
        assert own._server is not server


def test_a_server_that_is_killed_during_a_run_is_a_fault_and_leaves_no_process() -> None:
    with Sandbox(WORKER, LIMITS) as own:
        assert isinstance(own.run({"echo": 1}), Reply)
        server = own._server
        assert server is not None
        threading.Timer(0.5, os.kill, (server._process.pid, signal.SIGKILL)).start()
        outcome = own.run({"source": "import time\ndef run(): time.sleep(60)"})
        assert isinstance(outcome, Fault)
        assert outcome.reason == "server_lost"
        assert isinstance(own.run({"echo": 2}), Reply)
        assert processes_left(own) == []


def test_after_an_interrupt_the_next_answer_is_the_next_ones() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Sandbox(WORKER, LIMITS) as own:
            assert isinstance(own.run({"echo": 1}), Reply)
            server = own._server
            assert server is not None
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                own.run({"source": "import time\ndef run():\n time.sleep(60)\n return 'late'"})
            assert not server.alive()
            outcome = own.run({"echo": "mine"})
            assert isinstance(outcome, Reply)
            assert outcome.value == {"echo": "mine"}
            assert processes_left(own) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_closing_ends_the_server_and_a_later_run_starts_another() -> None:
    own = Sandbox(WORKER, LIMITS)
    assert isinstance(own.run({"echo": 1}), Reply)
    server = own._server
    assert server is not None
    own.close()
    assert not server.alive()
    own.close()
    assert isinstance(own.run({"echo": 1}), Reply)
    own.close()


def test_the_shared_sandbox_is_one_per_process_and_survives_a_fork() -> None:
    shared = shared_sandbox(WORKER, LIMITS)
    assert shared is shared_sandbox(WORKER)
    assert isinstance(shared.run({"echo": 1}), Reply)
    server = shared._server
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = shared_sandbox(WORKER, LIMITS).run({"echo": "child"})
            os.write(writing, str(isinstance(outcome, Reply)).encode())
            shared_sandbox(WORKER).close()
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"True"
    os.waitpid(child, 0)
    os.close(reading)
    assert isinstance(shared.run({"echo": "parent"}), Reply)
    assert shared._server is server
    shared.close()


def test_a_worker_that_does_not_load_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nowhere")
    with (
        Sandbox(tmp_path / "broken.py") as own,
        pytest.raises(SandboxBroken, match="No module named 'nowhere'"),
    ):
        own.run({})


def test_a_worker_that_starts_threads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "def handle(request): return {}"
    )
    with Sandbox(tmp_path / "threads.py") as own, pytest.raises(SandboxBroken, match="2 threads"):
        own.run({})


@pytest.mark.parametrize("field", ["wall_s", "cpu_s", "memory_mb", "processes"])
def test_a_limit_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        Limits(**{field: 0})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\xff\xff\xff\xff{}",
        b"\x02\x00\x00\x00[]",
        b"\x02\x00\x00\x00{",
        codec.encode({"a": 1})[:-1],
        b'\x1a\x00\x00\x00{"a":{"$bytes":[0,999999]}}',
        b'\x1a\x00\x00\x00{"a":{"$bytes":[-1,1],"":0}',
        b"\x06\x00\x00\x00" + b"[" * 6,
        (4 * 10**6).to_bytes(4, "little") + b"[" * 4 * 10**6,
    ],
)
def test_what_no_worker_writes_is_a_bad_message_and_nothing_worse(data: bytes) -> None:
    with pytest.raises(BadMessage):
        codec.decode(data)


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("float32", [2, 2], 15), ("object", [1], 8), ("float32", [-1], 4), ("float32", [2**40], 8)],
)
def test_a_tensor_that_does_not_fit_its_data_is_a_bad_message(
    dtype: str, shape: list[int], size: int
) -> None:
    good = codec.encode({"t": RawTensor(dtype, tuple(shape), bytes(size))})
    with pytest.raises(BadMessage):
        codec.decode(good)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_tensors_of_every_kind_survive_the_codec(dtype: str) -> None:
    torch.manual_seed(0)
    for shape in ((), (0, 3), (2, 3)):
        tensor = (torch.randn(shape) * 3).to(getattr(torch, dtype))
        back = codec.decode(codec.encode({"t": tensor}), tensors=True)["t"]
        assert back.dtype == tensor.dtype
        assert torch.equal(back, tensor)
