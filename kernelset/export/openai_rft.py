"""JSONL for OpenAI's reinforcement fine-tuning.

A line has `messages`, of which the last is the user's, and the facts beside it: a grader reads them
as `{{ item.baselines }}` and so on. `messages` and `tools` are the only reserved names. OpenAI's
Python grader has neither torch nor a GPU: the kernel itself must be run by an endpoint of yours.
"""

from collections.abc import Sequence
from pathlib import Path

from kernelset.export.item import Item
from kernelset.export.lines import write_lines


def write_openai_rft(items: Sequence[Item], folder: Path) -> None:
    """`train.jsonl` and, where there are such rows, `validation.jsonl`; the service wants both."""
    write_lines(items, folder, lambda item: {"messages": item.messages(), **item.facts})
