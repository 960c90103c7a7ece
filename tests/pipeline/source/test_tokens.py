"""The token set: equal to Python 3.11's `tokenize`, and not upset by damaged text."""

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.source.tokens import hashed, jaccard, token_hash, token_set, tokens

TORCH_FILES = sorted(
    (Path(sys.prefix) / "lib").glob("python3*/site-packages/torch/nn/modules/*.py")
)
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="tokenize splits f-strings since 3.12")
@pytest.mark.parametrize("path", TORCH_FILES, ids=lambda path: path.name)
def test_tokens_are_those_of_tokenize_without_comments_layout_and_docstrings(path: Path) -> None:
    code = path.read_text()
    assert tokens(code) == _by_tokenize(code)


def test_comments_docstrings_and_layout_leave_no_token() -> None:
    plain = "def f(x):\n    return x\n"
    dressed = '"""Module."""\n# note\ndef f(x):  # why\n    """Says."""\n\n\n    return (x)\n'
    assert token_set(dressed) == token_set(plain)


def test_a_string_that_is_used_is_a_token() -> None:
    assert '"mean"' in token_set('y = f("mean")')
    assert "'a'" in token_set("x = {\n    'k':\n    'a'\n}")


def test_a_byte_order_mark_form_feeds_and_crlf_change_nothing() -> None:
    plain = "x = 1\ny = x + 2\n"
    assert tokens("\ufeff" + plain) == tokens(plain)
    assert tokens(plain.replace("\n", "\r\n")) == tokens(plain)
    assert tokens("\f" + plain.replace("y", "\fy")) == tokens(plain)


@pytest.mark.parametrize(
    "damaged", ["", "   ", "\\", "'never closed", "((((", "\x00\x01", "\ud800 = 1"]
)
def test_damaged_text_has_tokens_too(damaged: str) -> None:
    hashed(token_set(damaged))


@given(st.text(max_size=200))
def test_no_text_is_refused(text: str) -> None:
    assert all(tokens(text)) or tokens(text) == []


def test_jaccard_is_intersection_over_union() -> None:
    assert jaccard(frozenset("abcd"), frozenset("cdef")) == 2 / 6
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset("a"), frozenset()) == 0.0


def test_token_hashes_are_the_same_in_every_process_and_version() -> None:
    assert token_hash("nn") == int.from_bytes(bytes.fromhex(NN_HASH), "big")


NN_HASH = "aa8f8992c48f8f07"


def _by_tokenize(code: str) -> list[str]:
    lines = code.split("\n")
    strings = [
        (
            (node.lineno, len(lines[node.lineno - 1].encode()[: node.col_offset].decode())),
            (
                node.end_lineno,
                len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode()),
            ),
        )
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type not in LAYOUT
        and not any(start <= token.start and token.end <= end for start, end in strings)
    ]
