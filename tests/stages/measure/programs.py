"""Small programs in KernelBench's format."""

_PROGRAM = """
import torch

ROWS = 64


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = torch.nn.Linear(32, 32)

    def forward(self, x):
{body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def program(forward: str, inputs: str = "torch.rand(ROWS, 32)") -> str:
    """A program whose forward is `forward`."""
    body = "\n".join("        " + line for line in forward.splitlines())
    return _PROGRAM.format(body=body, inputs=inputs)


GOOD = program("return torch.softmax(self.lift(x), -1)")
OTHER = program("return torch.relu(x) + 1")
RAISES = program("raise ValueError('no')")
DIES = program("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nreturn x")
LEAVES = program("import os\nos._exit(0)")
HANGS = program("import subprocess, time\nsubprocess.Popen(['sleep', '987'])\ntime.sleep(987)")
SLOW_TO_LOAD = "import time\ntime.sleep(1.5)\n" + GOOD
MUTATES = program("return x.mul_(1.0) + 1")
RANDOM = program("return torch.rand_like(x)")
NO_TENSOR = program("return 3")
