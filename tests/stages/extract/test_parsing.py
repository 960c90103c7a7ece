"""Hostile text costs its own file only, and little time."""

import json
import subprocess
import sys
import time

import pytest

from stages.extract.parsing import Unparsable, parse

DEEP = {
    "brackets": "x = " + "(" * 5000 + ")" * 5000,
    "lists": "x = " + "[" * 5000 + "]" * 5000,
    "signs": "x = " + "-" * 5000 + "1",
    "nots": "x = " + "not " * 5000 + "1",
    "sums": "x = 1" + " + 1" * 5000,
    "attributes": "x = a" + ".b" * 5000,
    "calls": "x = f" + "()" * 5000,
    "lambdas": "x = " + "lambda: " * 5000 + "1",
    "indents": "".join(" " * depth + "if x:\n" for depth in range(5000)) + " " * 5000 + "pass",
    "elifs": "if x:\n  pass\n" + "elif x:\n  pass\n" * 5000,
    "conditionals": "x = " + "1 if a else " * 5000 + "2",
    "format strings": "x = " + "f'{" * 3 + "1" + "}'" * 3,
}  # fmt: skip


def test_nesting_of_any_kind_gives_a_tree_or_a_reason_and_never_a_crash() -> None:
    code = (
        "import json, sys\n"
        "from stages.extract.parsing import Unparsable, parse\n"
        "for kind, text in json.load(sys.stdin).items():\n"
        "    sys.stderr.write(kind + ' ')\n"
        "    try:\n        parse(text)\n"
        "    except Unparsable as trouble:\n"
        "        assert trouble.reason in ('too_deep', 'too_large', 'syntax_error'), trouble.reason\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(DEEP),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"the last of these: {done.stderr[-500:]}"


def test_five_thousand_nested_brackets_are_too_deep() -> None:
    with pytest.raises(Unparsable) as trouble:
        parse(DEEP["brackets"])
    assert trouble.value.reason == "too_deep"


@pytest.mark.parametrize(
    "text", ["print 'python 2'", "def f(:\n  pass", "x = \x00", "class A\n  pass"]
)
def test_what_is_not_python_3_is_a_syntax_error(text: str) -> None:
    with pytest.raises(Unparsable) as trouble:
        parse(text)
    assert trouble.value.reason == "syntax_error"


def test_a_lone_surrogate_in_a_literal_is_no_trouble() -> None:
    assert parse("x = '\\ud800'").body


def test_twenty_thousand_lines_take_less_than_five_seconds() -> None:
    block = "class A{0}:\n    def forward(self, x):\n        y = x + {0}\n        return [y, (x, {0})]\n\n"
    text = "".join(block.format(number) for number in range(4000))
    started = time.perf_counter()
    parse(text)
    assert time.perf_counter() - started < 5
