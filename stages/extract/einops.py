"""Writes einops patterns as plain tensor methods: unflatten, permute, expand, flatten.

`rearrange(x, "b n (h d) -> b h n d", h=8)` is `x.unflatten(2, (8, -1)).permute(0, 2, 1, 3)`.
Only patterns whose rank is known are written; `...` and unknown sizes are not.
"""

import re
from collections.abc import Mapping

Groups = list[list[str]]

FUNCTIONS = frozenset({"rearrange", "repeat", "reduce"})
LAYERS = {"Rearrange": "rearrange", "Reduce": "reduce"}
REDUCTIONS = {"mean": "mean", "sum": "sum", "max": "amax", "min": "amin"}


class Unwritable(ValueError):
    """The pattern can't be written without knowing the tensor."""


def methods_for(function: str, pattern: str, sizes: Mapping[str, str], reduction: str = "") -> str:
    """The methods to append to the tensor.

    Raises:
        Unwritable: ellipsis, unknown sizes or a malformed pattern.
    """
    left_text, arrow, right_text = pattern.partition("->")
    if not arrow:
        raise Unwritable(pattern)
    if "..." in pattern:
        return _after_ellipsis(function, left_text.strip(), right_text.strip(), sizes)
    left, right = _groups(left_text), _groups(right_text)
    text, names = _split(left, sizes)
    wanted = [name for group in right for name in group if name != "1"]
    if len(set(names)) != len(names) or len(set(wanted)) != len(wanted):
        raise Unwritable(pattern)
    gone = [name for name in names if name not in wanted]
    if gone:
        if function != "reduce" or reduction not in REDUCTIONS:
            raise Unwritable(pattern)
        places = ", ".join(str(names.index(name)) for name in gone)
        text += f".{REDUCTIONS[reduction]}(dim=({places}{',' if len(gone) == 1 else ''}))"
        names = [name for name in names if name in wanted]
    new = [name for name in wanted if name not in names]
    if new and (
        function != "repeat" or any(name not in sizes and not name.isdigit() for name in new)
    ):
        raise Unwritable(pattern)
    kept = [name for name in wanted if name in names]
    if kept != names:
        text += f".permute({', '.join(str(names.index(name)) for name in kept)})"
    for place, name in enumerate(wanted):
        if name in new:
            text += f".unsqueeze({place})"
    if new:
        text += f".expand({', '.join(sizes.get(name, name) if name in new else '-1' for name in wanted)})"
    return text + _merged(right)


def _after_ellipsis(
    function: str, left_text: str, right_text: str, sizes: Mapping[str, str]
) -> str:
    """Both sides begin with `...`: axes are counted from the end."""
    if (
        not left_text.startswith("...")
        or not right_text.startswith("...")
        or function != "rearrange"
    ):
        raise Unwritable(left_text)
    left, right = _groups(left_text[3:]), _groups(right_text[3:])
    if any("1" in group for group in (*left, *right)):
        raise Unwritable(left_text)
    text = ""
    for place, group in enumerate(left):
        unknown = [name for name in group if name not in sizes and not name.isdigit()]
        if len(group) > 1 and len(unknown) > 1:
            raise Unwritable(left_text)
        if len(group) > 1:
            parts = ["-1" if name in unknown else sizes.get(name, name) for name in group]
            text += f".unflatten({place - len(left)}, ({', '.join(parts)}))"
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    if sorted(names) != sorted(wanted):
        raise Unwritable(left_text)
    if names != wanted:
        count = len(names)
        sources = ", ".join(str(names.index(name) - count) for name in wanted)
        targets = ", ".join(str(place - count) for place in range(count))
        text += f".movedim(({sources}), ({targets}))"
    for place in reversed(range(len(right))):
        if len(right[place]) > 1:
            end = place - len(right)
            text += f".flatten({end - len(right[place]) + 1}, {end})"
    return text


def einsum_equation(pattern: str) -> str:
    """torch.einsum's equation for einops' pattern of words.

    Raises:
        Unwritable: brackets, or more names than letters.
    """
    if "(" in pattern:
        raise Unwritable(pattern)
    letters: dict[str, str] = {}
    for name in re.findall(r"[A-Za-z_]\w*", pattern):
        free = [
            one
            for one in (name[0], *"abcdefghijklmnopqrstuvwxyz")
            if one.isalpha() and one not in letters.values()
        ]
        if name not in letters and not free:
            raise Unwritable(pattern)
        letters.setdefault(name, free[0] if free else "")
    return re.sub(r"[A-Za-z_]\w*", lambda match: letters[match[0]], pattern).replace(" ", "")


def _groups(text: str) -> Groups:
    groups: Groups = []
    for match in re.finditer(r"\(([^()]*)\)|(\S+)", text):
        inner, name = match[1], match[2]
        if name is not None:
            if not re.fullmatch(r"[A-Za-z_]\w*|\d+", name):
                raise Unwritable(text)
            groups.append([name])
        else:
            groups.append(inner.split() or ["1"])
    return groups


def _split(left: Groups, sizes: Mapping[str, str]) -> tuple[str, list[str]]:
    """Undoes the groups on the left side; gives the names of the axes that result."""
    text, names, place = "", [], 0
    for group in left:
        if group == ["1"]:
            text += f".squeeze({place})"
            continue
        group = [name for name in group if name != "1"]
        if len(group) > 1:
            unknown = [name for name in group if name not in sizes and not name.isdigit()]
            if len(unknown) > 1:
                raise Unwritable(" ".join(group))
            parts = ["-1" if name in unknown else sizes.get(name, name) for name in group]
            text += f".unflatten({place}, ({', '.join(parts)}))"
        names += group
        place += len(group)
    return text, names


def _merged(right: Groups) -> str:
    text = ""
    for place, group in enumerate(right):
        count = len([name for name in group if name != "1"])
        if count == 0:
            text += f".unsqueeze({place})"
        elif count > 1:
            text += f".flatten({place}, {place + count - 1})"
    return text
