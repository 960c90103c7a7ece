"""Makes whole programs out of a module's parts."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "data" / "examples"


def program(
    forward: str,
    *,
    init: str = "",
    inputs: str = "[torch.randn(B, D)]",
    arguments: str = "x",
    top: str = "",
) -> str:
    """A program with one Model; `forward` and `init` are the bodies, indented or not."""
    return f"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 8
D = 32
{top}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
{_indented(init)}

    def forward(self, {arguments}):
{_indented(forward)}


def get_inputs():
    return {inputs}


def get_init_inputs():
    return []
"""


def example(file: str, class_name: str, inputs: str, arguments: str = "[]") -> str:
    """A program around a class of data/examples."""
    text = (EXAMPLES / file).read_text()
    return f"""{text}
B = 8

Model = {class_name}


class Model(Model):
    pass


def get_inputs():
    return {inputs}


def get_init_inputs():
    return {arguments}
"""


def _indented(body: str) -> str:
    return "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
