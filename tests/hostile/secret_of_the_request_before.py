"""Looks for what an earlier program has left in tmp, in modules and in torch."""

import os
import sys


def run():
    left = [name for name in os.listdir(".")] + [
        name for name in sys.modules if name == "left_behind"
    ]
    if hasattr(torch, "left_behind"):
        left.append("torch.left_behind")
    return f"ESCAPED {left}" if left else "contained"
