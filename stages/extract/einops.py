"""Writes einops patterns as plain tensor methods: unflatten, permute, expand, flatten.

`rearrange(x, "b n (h d) -> b h n d", h=8)` is `x.unflatten(2, (8, -1)).permute(0, 2, 1, 3)`.
Patterns made at run time and unknown sizes are not written.
"""

import re
from collections.abc import Mapping

Groups = list[list[str]]

FUNCTIONS = frozenset({"rearrange", "repeat", "reduce"})
LAYERS = {"Rearrange": "rearrange", "Reduce": "reduce"}
REDUCTIONS = {
    "mean": "mean",
    "sum": "sum",
    "max": "amax",
    "min": "amin",
    "all": "all",
    "any": "any",
}
PACKING = frozenset({"pack", "unpack"})


class Unwritable(ValueError):
    """The pattern can't be written without knowing the tensor."""


def methods_for(function: str, pattern: str, sizes: Mapping[str, str], reduction: str = "") -> str:
    """The methods to append to the tensor.

    Raises:
        Unwritable: unknown sizes, or a malformed pattern.
    """
    left_text, arrow, right_text = pattern.partition("->")
    if not arrow:
        raise Unwritable(pattern)
    if "..." in pattern:
        return _with_ellipsis(function, left_text, right_text, sizes, reduction)
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


def _with_ellipsis(
    function: str, left_text: str, right_text: str, sizes: Mapping[str, str], reduction: str
) -> str:
    """Axes before the dots are counted from the front, those after it from the end."""
    if (
        left_text.count("...") != 1
        or right_text.count("...") > 1
        or re.search(r"\(.*\.\.\..*\)", left_text)
    ):
        raise Unwritable(left_text)
    before, after = (_groups(part) for part in left_text.split("..."))
    if "(...)" in right_text.replace(" ", "") or "..." not in right_text:
        # The dots become one axis, or vanish: flatten them first, and every axis is known.
        flat = f".flatten({len(before)}, {-len(after) - 1})"
        named = (text.replace("...", "dots") for text in (left_text, right_text))
        return flat + methods_for(function, " -> ".join(named), sizes, reduction)
    first, last = (_groups(part) for part in right_text.split("..."))
    names = [name for group in (*before, *after) for name in group if name != "1"]
    wanted = [name for group in (*first, *last) for name in group if name != "1"]
    new = [name for name in wanted if name not in names]
    if (
        len(set(names)) != len(names)
        or len(set(wanted)) != len(wanted)
        or any(name not in wanted for name in names)
        or (new and function != "repeat")
        or any(name not in sizes and not name.isdigit() for name in new)
    ):
        raise Unwritable(left_text)
    text, ahead, behind = _split_around(before, after, sizes)
    places = {name: place for place, name in enumerate(ahead)}
    places |= {name: place - len(behind) for place, name in enumerate(behind)}
    front = [name for group in first for name in group if name in places]
    back = [name for group in last for name in group if name in places]
    targets = [*range(len(front)), *(place - len(back) for place in range(len(back)))]
    sources = [places[name] for name in (*front, *back)]
    if sources != targets:
        text += f".movedim({_tuple(sources)}, {_tuple(targets)})"
    every_first, every_last = ([name for group in side for name in group] for side in (first, last))
    for place, name in enumerate([name for name in every_first if name != "1"]):
        if name in new:
            text += _repeated(place, sizes.get(name, name))
    for place, name in enumerate(reversed([name for name in every_last if name != "1"])):
        if name in new:
            text += _repeated(-place - 1, sizes.get(name, name))
    return text + _merged(first) + _merged_at_the_end(last)


def _split_around(
    before: Groups, after: Groups, sizes: Mapping[str, str]
) -> tuple[str, list[str], list[str]]:
    """Undoes the groups on both sides of the dots; from the right, places count from the end."""
    text, ahead = _split(before, sizes)
    behind: list[str] = []
    for group in reversed(after):
        place = -len(behind) - 1
        if group == ["1"]:
            text += f".squeeze({place})"
            continue
        methods, names = _split([group], sizes)
        text += methods.replace(".unflatten(0,", f".unflatten({place},")
        behind = [*names, *behind]
    return text, ahead, behind


def _repeated(place: int, times: str) -> str:
    return f".unsqueeze({place}).repeat_interleave({times}, {place})"


def _merged_at_the_end(right: Groups) -> str:
    """Merges groups behind the dots, the last one first: then the places of the others hold."""
    text = ""
    for done, group in enumerate(reversed(right)):
        count = len([name for name in group if name != "1"])
        if count == 0:
            text += f".unsqueeze({-done - 1})"
        elif count > 1:
            text += f".flatten({-done - count}, {-done - 1})"
    return text


def _tuple(places: list[int]) -> str:
    return f"({', '.join(map(str, places))}{',' if len(places) == 1 else ''})"


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
