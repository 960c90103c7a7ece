"""Addresses and owners' folders leave comments and docstrings; the program stays the program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.source.canonical import problem_id
from pipeline.source.personal import personal_in, without_personal_data

PROGRAM = '''
"""By Jane Doe <jane.doe@cs.example.edu>, jdoe [at] example [dot] com.

Weights lie in /home/jane/weights and C:\\\\Users\\\\jane\\\\weights.
"""
import torch


class Model(torch.nn.Module):
    """Multiplies; ask jane+torch@example.co.uk."""

    def forward(self, x, w):
        # was /Users/jdoe/src/model.py, jdoe@example.com
        return x@w.to(x.dtype)
'''
CLEAN = '''
"""By Jane Doe <<e-mail>>, <e-mail>.

Weights lie in /home/<user>/weights and C:\\\\Users\\\\<user>\\\\weights.
"""
import torch


class Model(torch.nn.Module):
    """Multiplies; ask <e-mail>."""

    def forward(self, x, w):
        # was /Users/<user>/src/model.py, <e-mail>
        return x@w.to(x.dtype)
'''


def test_addresses_and_owners_leave_comments_and_the_edits_say_so() -> None:
    clean, edits = without_personal_data(PROGRAM)
    assert clean == CLEAN
    assert edits == [
        "removed 4 e-mail addresses from comments",
        "removed 3 home folders from comments",
    ]


def test_the_problem_stays_the_same_problem() -> None:
    assert problem_id(without_personal_data(PROGRAM)[0]) == problem_id(PROGRAM)
    assert list(personal_in(CLEAN)) == []


def test_a_clean_program_is_left_as_it_is() -> None:
    assert without_personal_data(CLEAN) == (CLEAN, [])


@pytest.mark.parametrize(
    "line",
    ["AUTHOR = 'jdoe@example.com'", "def f(path='/home/jdoe/x'): pass", "x = f('a') + 'b@c.org'"],
)
def test_a_string_that_the_program_uses_is_found_and_not_changed(line: str) -> None:
    assert without_personal_data(line + "\n") == (line + "\n", [])
    assert [found.line for found in personal_in(line)] == [1]


@pytest.mark.parametrize(
    "line",
    [
        "y = q@k.mT",
        "y = hidden@self.weight.to(x)",
        "y = x@w.t()",
        "@torch.no_grad()",
        "# git@github.com:pytorch/pytorch.git",
        "# ndarray of (batch, at, most), see <at> and /home/user/data",
        "# 3 @ 4.0, a@b",
    ],
)
def test_what_only_looks_personal_is_none_of_it(line: str) -> None:
    assert list(personal_in(line)) == []


def test_a_text_that_is_not_python_comes_back_as_it_is() -> None:
    assert without_personal_data("'''a@b.org") == ("'''a@b.org", [])


@given(
    st.lists(st.sampled_from(["a@b.org", "/home/ann/x", "é", "(", "x at y", "\\u0001"]), max_size=6)
)
def test_whatever_a_comment_holds_cleaning_twice_is_cleaning_once(words: list[str]) -> None:
    code = f"x = 1  # {' '.join(words)}\n'''{' '.join(words)}'''\ny = 2\n"
    clean, _ = without_personal_data(code)
    assert without_personal_data(clean) == (clean, [])
    assert problem_id(clean) == problem_id(code)
    assert list(personal_in(clean)) == []
