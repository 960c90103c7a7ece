"""Addresses and owners' folders in an author's comments and docstrings do not reach a program."""

from pathlib import Path

from tests.stages.extract.helpers import extract, one_kept

SOURCE = '''
import torch.nn as nn


class Gate(nn.Module):
    """A gate, by jane.doe@example.org.

    x: (batch, 64)
    """

    def __init__(self, width=64):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        # from /home/jane/gates.py
        return x * self.linear(x).sigmoid()
'''


def test_personal_data_leaves_the_program_and_the_edits_say_so(tmp_path: Path) -> None:
    row = one_kept(extract(SOURCE, tmp_path))
    assert "jane" not in str(row["code"])
    assert "<e-mail>" in str(row["code"])
    assert "removed 1 e-mail address from comments" in row["edits"]  # type: ignore[operator]
