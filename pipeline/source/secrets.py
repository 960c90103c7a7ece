"""Keys, tokens and passwords in a program's text. Their kind and line are told, never their value.

The patterns are detect-secrets': those of named services, and of quoted values given to a name such as
`password` or `api_key`. Not used are its entropy plug-ins (a hash is no secret) and public IP
addresses. Nothing is verified: no key is ever tried, no network is used.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

NOT_ASKED = frozenset(("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)"))
MORE = {
    "Hugging Face Token": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "Google API Key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    "OpenAI Token": re.compile(r"\bsk-(?:proj|svcacct|None)-[A-Za-z0-9_-]{40,}"),
    "Anthropic Key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{40,}"),
    "Weights & Biases Key": re.compile(r"(?i)wandb.{0,40}\b[0-9a-f]{40}\b"),
}
"""Kinds that people who train models leave in their files, and that detect-secrets 1.5 lacks."""


@dataclass(frozen=True)
class Secret:
    """Something that opens a door."""

    kind: str
    line: int


def secrets_in(code: str) -> Iterator[Secret]:
    """Gives every secret of the text, line by line."""
    # The whole text first: nearly always nothing is found, and a pass a line costs ten times more.
    plugins = [plugin for plugin in _plugins(code) if any(plugin.analyze_string(code))]
    patterns = {kind: pattern for kind, pattern in MORE.items() if pattern.search(code)}
    if not plugins and not patterns:
        return
    for number, line in enumerate(code.splitlines(), 1):
        kinds = {p.secret_type for p in plugins if any(p.analyze_string(line))}
        kinds |= {kind for kind, pattern in patterns.items() if pattern.search(line)}
        yield from (Secret(kind, number) for kind in sorted(kinds))


def _plugins(code: str) -> Iterator[Any]:
    """The plug-ins that may find something; the one for names is slow, and most texts have none."""
    from detect_secrets.plugins.keyword import DENYLIST

    named = re.search("|".join(DENYLIST), code, re.IGNORECASE) is not None
    for kind, plugin in _every_plugin().items():
        if named or kind != "Secret Keyword":
            yield plugin


@cache
def _every_plugin() -> dict[str, Any]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    kinds: dict[str, Any] = get_mapping_from_secret_type_to_class()
    return {name: kinds[name]() for name in sorted(kinds.keys() - NOT_ASKED)}
