"""Nothing in the text that opens a door or leads to a person. The detail never repeats it."""

from collections.abc import Iterator

from pipeline.source.personal import personal_in
from pipeline.source.secrets import secrets_in
from stages.validate.gates.verdict import Reject, Verdict

POLICY = 1


def check_private(code: str) -> Iterator[Verdict]:
    """Keys and passwords anywhere; personal data that extract could not take out of comments."""
    for secret in secrets_in(code):
        yield Reject("secret", f"{secret.kind} in line {secret.line}")
    for personal in personal_in(code):
        yield Reject("personal_data", f"{personal.kind} in line {personal.line}")
