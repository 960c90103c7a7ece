"""A class around the author's whose forward takes and gives plain tensors.

Trainers and gates compare flat tuples of tensors; authors pass pairs of rotary embeddings and give
dataclasses. The adapter only unpacks: it computes nothing.
"""

import io
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import torch

MOST_TENSORS = 8
"""More outputs than these are a list of states rather than a result."""


@dataclass(frozen=True)
class Adapter:
    """What stands between the format and the class."""

    body: str  # the definitions, the author's class under a name of its own
    text: str  # the class Model
    inputs: list[dict[str, Any]]  # flat ones, in the order of its forward
    words: str


def paths_to_tensors(value: Any) -> list[str]:
    """Where the tensors of a result lie, as expressions: `result[0]`, `result["logits"]`.

    A tensor that is there twice is given once.
    """
    found: dict[int, str] = {}
    for path, tensor in _tensors(value, "result", 0):
        found.setdefault(id(tensor), path)
    return list(found.values())


def _tensors(value: Any, prefix: str, depth: int) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        return [(prefix, value)]
    if depth > 4:
        return []
    found: list[tuple[str, torch.Tensor]] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str | int):
                quoted = f'"{key}"' if isinstance(key, str) else str(key)
                found += _tensors(item, f"{prefix}[{quoted}]", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            found += _tensors(item, f"{prefix}[{index}]", depth + 1)
    elif is_dataclass(value):
        for name in value.__dataclass_fields__:
            found += _tensors(getattr(value, name, None), f"{prefix}.{name}", depth + 1)
    return found


def is_flat(value: Any) -> bool:
    """One tensor, or a tuple or list of tensors alone."""
    parts = value if isinstance(value, list | tuple) else [value]
    return bool(parts) and all(isinstance(one, torch.Tensor) for one in parts)


def adapter(
    class_name: str, body: str, inputs: Sequence[Mapping[str, Any]], returned: Sequence[str]
) -> Adapter | None:
    """The class between, or None where the author's forward is plain already.

    Args:
        class_name: the author's class, called Model in `body`.
        inputs: of forward by position, as the plan describes them.
        returned: paths to the tensors of a result; empty if it is flat already.
    """
    groups = [one for one in inputs if one["items"] and not one["name"].startswith("*")]
    if not (groups or returned) or len(returned) > MOST_TENSORS:
        return None
    if any(one["name"].startswith("*") for one in inputs):
        return None
    flat: list[dict[str, Any]] = []
    passed = [_passed(one, one["name"], f"axis/{one['name']}", flat) for one in inputs]
    call = f"super().forward({', '.join(passed)})"
    lines = [f"        result = {call}", f"        return {', '.join(returned)}"]
    if not returned:
        lines = [f"        return {call}"]
    parameters = ", ".join(["self", *(one["name"] for one in flat)])
    text = "\n".join(
        [
            f"class Model({class_name}):",
            f'    """{class_name} with plain tensors in and out."""',
            "",
            f"    def forward({parameters}):",
            *lines,
        ]
    )
    gives = ", ".join(one.removeprefix("result") for one in returned)
    words = f"Model is {class_name} with plain tensors in and out" + (f": {gives}" if gives else "")
    return Adapter(_renamed(body, class_name), text, flat, words)


def _passed(one: Mapping[str, Any], name: str, path: str, flat: list[dict[str, Any]]) -> str:
    """How an input is passed on; adds the flat inputs that it needs."""
    if one["items"]:
        items = [
            _passed(item, f"{name}_{index}", f"{path}/{index}", flat)
            for index, item in enumerate(one["items"])
        ]
        if one["kind"] == "list":
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if one["kind"] == "value" and (one["source"] == "None" or one["is_default"]):
        return str(one["source"])
    flat.append({**one, "name": name, "path": path})
    return name


def _renamed(body: str, class_name: str) -> str:
    """The definitions with the name Model given back to the author's own."""
    lines = body.splitlines(keepends=True)
    before = ""
    places = []
    for token in tokenize.generate_tokens(io.StringIO(body).readline):
        if token.type == tokenize.NAME and token.string == "Model" and before != ".":
            places.append(token.start)
        before = token.string
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + class_name + line[column + len("Model") :]
    return "".join(lines)
