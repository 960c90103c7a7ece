"""A pydantic model as the JSON schema that endpoints accept in strict mode."""

from functools import cache
from typing import Any

from pydantic import BaseModel

_UNWANTED = frozenset(("title", "default", "minLength", "maxLength"))
"""Not accepted by every endpoint; lengths are checked here after the reply."""


@cache
def strict_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Every key required, no other allowed, as OpenAI's structured output asks."""
    schema = _strict(shape.model_json_schema())
    assert isinstance(schema, dict)
    return schema


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(part) for part in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    kept = {
        key: {name: _strict(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _strict(value)
        for key, value in node.items()
        if key not in _UNWANTED
    }
    if isinstance(properties, dict):
        kept |= {"required": list(properties), "additionalProperties": False}
    return kept
