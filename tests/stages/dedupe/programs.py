"""Rows for the dedupe tests: programs with a chosen number of tokens in common."""

from pipeline.source.canonical import problem_id
from pipeline.stage import Row

PLACE = {"licence": "MIT", "source_name": "ours", "path": "a.py", "line_start": 1}


def row(code: str, **place: object) -> Row:
    """A row as the stage sees it."""
    return {"problem_id": problem_id(code), "code": code} | PLACE | place


def of_words(*words: str) -> str:
    """A program whose token set is the words, `=`, `f`, `(` and `)`; shape-blind forms differ."""
    return "\n".join(f"y_{word} = f.{word}()" for word in words)


def pair_at(similarity: float, name: str, size: int = 200) -> tuple[str, str]:
    """Two programs whose token-set Jaccard is as near to `similarity` as sets of this size allow."""
    # Every word gives two tokens (y_word, word); `=`, `f`, `.`, `(`, `)` are in both.
    common = 5
    words = size // 2
    shared = round((similarity * (2 * (2 * words + common)) / (1 + similarity) - common) / 2)
    same = [f"{name}s{i}" for i in range(shared)]
    one = same + [f"{name}a{i}" for i in range(words - shared)]
    other = same + [f"{name}b{i}" for i in range(words - shared)]
    return of_words(*one), of_words(*other)
