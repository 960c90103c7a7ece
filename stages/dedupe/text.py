"""What is compared of a program's text. Done in other processes, so it imports little."""

from dataclasses import dataclass

from pipeline.source.shape_blind import shape_blind_digest
from pipeline.source.tokens import hashed, token_set


@dataclass(frozen=True, slots=True)
class Text:
    """A program as dedupe sees it."""

    tokens: frozenset[int]
    form: str  # digest of the shape-blind form; empty where the text can't be parsed
    trouble: str  # why it can't; otherwise empty


def read_text(code: str) -> Text:
    """Tokens and form of a program; damaged texts have tokens too."""
    tokens = hashed(token_set(code))
    try:
        return Text(tokens, shape_blind_digest(code), "")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        return Text(tokens, "", f"{type(trouble).__name__}: {trouble}")
