"""Assembles the finished program from definitions and a plan."""

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .adapter import adapter

Plan = Mapping[str, Any]

ROLES = {
    1: ("FEATURES",),
    2: ("BATCH", "FEATURES"),
    3: ("BATCH", "SEQ_LEN", "DIM"),
    4: ("BATCH", "CHANNELS", "HEIGHT", "WIDTH"),
    5: ("BATCH", "CHANNELS", "DEPTH", "HEIGHT", "WIDTH"),
    6: ("BATCH", "GROUPS", "CHANNELS", "DEPTH", "HEIGHT", "WIDTH"),
}


COMPARED = "compared in the code"
"""Evidence of an argument that the code looks up or compares with a few values."""


@dataclass(frozen=True)
class Definitions:
    """The program's upper part, the class being called Model."""

    imports: tuple[str, ...]
    body: str
    names: frozenset[str]  # bound by imports or definitions


@dataclass(frozen=True)
class Finished:
    """The finished program and what the row says about it."""

    code: str
    sizes: list[dict[str, Any]]
    arguments: list[dict[str, str]]
    inputs: list[dict[str, Any]]
    has_float: bool
    places: dict[str, str]  # of each size constant: an axis that has it, as "axis/x/1"
    edits: list[str]  # in words: what the program adds to the author's code


def assemble(definitions: Definitions, plan: Plan, defaults: Mapping[str, str]) -> Finished:
    """Writes the program. `defaults` are the constructor's own defaults as source text."""
    sizes = _Sizes(definitions, plan)
    given = _by_position(plan)
    between = adapter(plan["class_name"], definitions.body, given, plan["returned"])
    inputs = _input_lines(between.inputs if between else given, sizes)
    init, config = _init_values(plan, sizes, defaults)
    parts = []
    if sizes.values:
        parts.append("\n".join(f"{name} = {value}" for name, value in sizes.values.items()))
    if config:
        parts.append(config)
    parts += [between.body, between.text] if between else [definitions.body]
    parts.append("def get_inputs():\n" + inputs)
    parts.append("def get_init_inputs():\n" + _returned(init))
    body = "\n\n\n".join(parts)
    imports = _with_needed(definitions, body)
    # Constants follow the imports directly; two empty lines come before the first definition.
    code = "\n".join(imports) + ("\n\n" if sizes.values else "\n\n\n") + body + "\n"
    return Finished(
        code,
        [{"name": name, "value": value} for name, value in sizes.values.items()],
        [
            {"name": one["name"], "value": sizes.argument(one), "evidence": one["evidence"]}
            for one in plan["arguments"]
            if not one["name"].endswith(".__dict__")
        ],
        [
            described
            for one in (between.inputs if between else plan["inputs"])
            for described in _described(one, sizes, one.get("path", ""))
        ],
        _any_float(plan["inputs"]),
        sizes.places,
        [between.words] if between else [],
    )


class _Sizes:
    """Names for the program's integers: linked ones share a name."""

    def __init__(self, definitions: Definitions, plan: Plan) -> None:
        self.values: dict[str, int] = {}
        self.places: dict[str, str] = {}
        self._taken = set(definitions.names) | set(
            re.findall(r"\b[A-Z][A-Z0-9_]*\b", definitions.body)
        )
        self._names: dict[str, str] = {}
        self._links = [frozenset(link) for link in plan["links"]]
        self._arguments = {one["name"]: one["value"] for one in plan["arguments"]}
        axes = [axis for one in plan["inputs"] for axis in _axes(one, one["name"])]
        values = {path: value for path, value, _ in axes}
        for path, value, role in axes:
            if value <= 1:
                continue
            group = self._group(path, values, value)
            argument = next((name for name in group if name.startswith("arg/")), None)
            known = next((self._names[name] for name in sorted(group) if name in self._names), None)
            shared = known or self._same_role(role, value)
            if shared is None:
                wanted = (
                    _upper(argument.split("/")[1].split(".")[-1])
                    if argument and role != "BATCH"
                    else role
                )
                shared = self._new(wanted, value)
            self.places.setdefault(shared, path)
            for name in group:
                self._names.setdefault(name, shared)
        chosen = {one["name"] for one in plan["arguments"] if one["evidence"] == COMPARED}
        for name, source in self._arguments.items():
            if name in chosen:
                continue  # one of a few names that happen to be numbers
            if f"arg/{name}" not in self._names and source.isdigit() and int(source) >= 16:
                path = f"arg/{name}"
                self._names[path] = self._new(_upper(name.split(".")[-1]), int(source))
                self.places[self._names[path]] = path

    def of(self, path: str, value: int) -> str:
        """How a size is written in the program."""
        return self._names.get(path, str(value))

    def argument(self, one: Mapping[str, str]) -> str:
        return self._names.get(f"arg/{one['name']}", one["value"])

    def _group(self, path: str, values: Mapping[str, int], value: int) -> set[str]:
        """All variables that the search has tied to this one and that still have its value."""
        group, waiting = {path}, [path]
        while waiting:
            name = waiting.pop()
            for link in self._links:
                if name in link:
                    for other in link - group:
                        if self._value(other, values) == value:
                            group.add(other)
                            waiting.append(other)
        return group

    def _value(self, path: str, values: Mapping[str, int]) -> int | None:
        if path.startswith("arg/"):
            source = self._arguments.get(path[4:], "")
            return int(source) if source.isdigit() else None
        return values.get(path)

    def _same_role(self, role: str, value: int) -> str | None:
        for name, known in self.values.items():
            if known == value and re.fullmatch(rf"{role}(_\d+)?", name):
                return name
        return None

    def _new(self, wanted: str, value: int) -> str:
        name, number = wanted, 2
        while name in self._taken or not name.isupper() or keyword.iskeyword(name):
            if not name.isupper():
                wanted = "SIZE"
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        self.values[name] = value
        return name


def _axes(one: Mapping[str, Any], name: str, path: str = "") -> list[tuple[str, int, str]]:
    path = path or f"axis/{name}"
    if one["kind"] == "tensor":
        rank = len(one["dims"])
        is_sequence = rank == 2 and one["dtype"] == "int64"  # of ids
        roles = ("BATCH", "SEQ_LEN") if is_sequence else ROLES.get(rank, ())
        return [(f"{path}/{index}", value, roles[index]) for index, value in enumerate(one["dims"])]
    found = []
    for index, item in enumerate(one["items"]):
        found += _axes(item, name, f"{path}/{index}")
    return found


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").upper()


def _input_lines(inputs: Sequence[Mapping[str, Any]], sizes: _Sizes) -> str:
    lines, returned = [], []
    used: set[str] = set()
    for one in inputs:
        if one["kind"] == "value":
            returned.append(one["source"])
            continue
        name = one["name"].strip("*")
        if name in ("torch", "nn") or keyword.iskeyword(name) or name in used:
            name = f"{name}_"
        used.add(name)
        lines.append(f"    {name} = {_drawn(one, sizes, one.get('path') or 'axis/' + one['name'])}")
        returned.append(("*" if one["name"].startswith("*") and one["items"] else "") + name)
    return "\n".join([*lines, f"    return [{', '.join(returned)}]"])


def _by_position(plan: Plan) -> list[Mapping[str, Any]]:
    """Inputs in the order of `forward`; skipped optional ones get their own default."""
    given = {one["name"].lstrip("*"): one for one in plan["inputs"]}
    result: list[Mapping[str, Any]] = []
    waiting: list[Mapping[str, Any]] = []
    for parameter in plan["forward"]:
        if parameter["kind"] == "VAR_KEYWORD":
            continue
        if parameter["name"] in given:
            result += [*waiting, given[parameter["name"]]]
            waiting = []
        elif parameter["kind"] != "VAR_POSITIONAL":
            waiting.append(
                {
                    "name": parameter["name"],
                    "kind": "value",
                    "source": parameter["default"] or "None",
                    "items": [],
                    "is_default": True,
                }
            )
    return result


def _drawn(one: Mapping[str, Any], sizes: _Sizes, path: str) -> str:
    if one["kind"] == "value":
        return str(one["source"])
    if one["kind"] in ("list", "tuple"):
        items = [_drawn(item, sizes, f"{path}/{index}") for index, item in enumerate(one["items"])]
        if one["kind"] == "list":
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    dims = [sizes.of(f"{path}/{index}", value) for index, value in enumerate(one["dims"])]
    shape = ", ".join(dims)
    as_tuple = f"({shape},)" if len(dims) == 1 else f"({shape})"
    match one["dtype"], one["draw"]:
        case "int64", _:
            bound = sizes.of(one["bound_of"], one["bound"])
            return f"torch.randint(0, {bound}, {as_tuple})"
        case "bool", "ones":
            return f"torch.ones({as_tuple}, dtype=torch.bool)"
        case "bool", _:
            return f"torch.rand({shape}) > 0.5"
        case "complex64", _:
            return f"torch.randn({shape}, dtype=torch.complex64)"
        case _, "uniform":
            return f"torch.rand({shape})"
        case _, "ones":
            return f"torch.ones({shape})"
    return f"torch.randn({shape})"


def _init_values(plan: Plan, sizes: _Sizes, defaults: Mapping[str, str]) -> tuple[list[str], str]:
    values = {
        one["name"]: sizes.argument(one) for one in plan["arguments"] if "." not in one["name"]
    }
    nested: dict[str, dict[str, str]] = {}
    for one in plan["arguments"]:
        if "." in one["name"]:
            owner, attribute = one["name"].rsplit(".", 1)
            nested.setdefault(owner, {})[attribute] = sizes.argument(one)
    classes, as_value = _configs(nested, values)
    result: list[str] = []
    waiting: list[str] = []
    for parameter in plan["constructor"]:
        if parameter["kind"] in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            continue
        name = parameter["name"]
        if name in values:
            value = as_value.get(name, values[name])
            result += [*waiting, value]
            waiting = []
        else:
            waiting.append(defaults.get(name) or parameter["default"] or "None")
    return result, classes


def _configs(
    nested: Mapping[str, Mapping[str, str]], values: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """A class for each config object, holding only what is read."""
    texts: list[str] = []
    as_value: dict[str, str] = {}
    owners = {name for name, value in values.items() if value == "<config>"}
    for owner in sorted(set(nested) | owners, key=lambda name: -name.count(".")):
        fields = dict(nested.get(owner, {}))
        is_dict = fields.pop("__dict__", None)
        for name, value in fields.items():
            if value == "<config>":
                fields[name] = as_value.get(f"{owner}.{name}", "None")
        if is_dict:
            as_value[owner] = (
                "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
            )
            continue
        title = (
            "Config"
            if "." not in owner and len(owners) == 1
            else "".join(part.title() for part in re.split(r"[._]", owner)) + "Config"
        )
        lines = [f"    {name} = {value}" for name, value in fields.items()] or ["    pass"]
        texts.append(f"class {title}:\n" + "\n".join(lines))
        as_value[owner] = f"{title}()"
    return "\n\n\n".join(texts), as_value


def _returned(values: Sequence[str]) -> str:
    line = f"    return [{', '.join(values)}]"
    if len(line) <= 100:
        return line
    return "    return [\n" + "".join(f"        {value},\n" for value in values) + "    ]"


_USUAL = (
    ("torch", "import torch"),
    ("nn", "import torch.nn as nn"),
    ("F", "import torch.nn.functional as F"),
    ("math", "import math"),
)


def _with_needed(definitions: Definitions, body: str) -> list[str]:
    """Imports, and those that inputs and arguments need besides."""
    imports = list(definitions.imports)
    for name, line in _USUAL:
        if name not in definitions.names and re.search(rf"(?<![\w.\"']){name}\.", body):
            place = (
                imports.index("import torch") + 1
                if name != "torch" and "import torch" in imports
                else 0
            )
            if imports and imports[0].startswith("from __future__"):
                place = max(place, 2)
            imports.insert(place, line)
    return imports


def _described(one: Mapping[str, Any], sizes: _Sizes, path: str = "") -> list[dict[str, Any]]:
    path = path or f"axis/{one['name']}"
    if one["items"]:
        return [
            row
            for index, item in enumerate(one["items"])
            for row in _described(item, sizes, f"{path}/{index}")
        ]
    dims = [sizes.of(f"{path}/{index}", value) for index, value in enumerate(one["dims"])]
    dtype = one["dtype"] if one["kind"] == "tensor" else f"value {one['source']}"
    return [
        {"name": one["name"].strip("*"), "dtype": dtype, "shape": dims, "evidence": one["evidence"]}
    ]


def _any_float(inputs: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        (
            one["kind"] == "tensor"
            and one["dtype"] in ("float32", "complex64")
            and one["draw"] != "ones"
        )
        or _any_float(one["items"])
        for one in inputs
    )
