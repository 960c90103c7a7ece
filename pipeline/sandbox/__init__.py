"""Runs crawled code so that it can't harm: one request in, a typed answer or a typed failure out.

    with Sandbox(Path("stages/validate/worker.py"), Limits(wall_s=10)) as sandbox:
        outcome = sandbox.run({"source": program})
        if isinstance(outcome, Fault): ...

The worker is a trusted file that imports only the standard library and torch. It defines

    def handle(request: dict) -> dict: ...            # runs with the crawled program, in its process
    def judge(request: dict, answer: dict) -> dict: ... # optional; runs where the program never was

Requests and answers hold what JSON holds, and bytes and tensors (64 MiB of them together; no pickle).
In the worker tensors are torch tensors, at the caller's they are `RawTensor`.

Who believes whom. In the process of `handle` the program can do whatever `handle` can: it may patch
torch, read all memory, and write the answer itself. What `handle` returns is the program's word,
therefore, and good for programs that are merely bad. Where it must hold against one that lies, let
`handle` return tensors and let `judge` decide: it runs in a process of its own, forked from the clean
server and confined in the same way, after the program's processes are gone, and only its answer
reaches the caller. `Reply.seconds`, `Fault.reason` and `sandbox_level` come from processes that
never ran crawled code.

                                 socket              pipe             pipe
    caller (client.py) ──────────────── server ───────────── relay ───────────── child
                         imports torch once   watches, kills     confined, runs the program

The folder `inside/` is what runs on the server's side of the socket; it knows nothing of the project.
"""

from .client import Sandbox, SandboxBroken, shared_sandbox
from .inside.codec import BadMessage, RawTensor
from .inside.limits import Limits
from .levels import LEVELS, Layer, SandboxLevel, SandboxTooWeak, describe, detect
from .outcome import Fault, Reason, Reply
from .surroundings import Surroundings

__all__ = [
    "LEVELS",
    "BadMessage",
    "Fault",
    "Layer",
    "Limits",
    "RawTensor",
    "Reason",
    "Reply",
    "Sandbox",
    "SandboxBroken",
    "SandboxLevel",
    "SandboxTooWeak",
    "Surroundings",
    "describe",
    "detect",
    "shared_sandbox",
]
