"""Takes the randomness out of a program whose output would not repeat: dropout with probability 0."""

import ast

from pipeline.source.trees import walk


def without_dropout(body: str) -> tuple[str, int]:
    """Sets every literal dropout probability to 0.0; gives the text and how many there were."""
    spots: list[tuple[int, int, int, str]] = []
    for node in walk(ast.parse(body)):
        match node:
            case ast.Call(func=function):
                name = ast.unparse(function).split(".")[-1]
                probability = _probability(node, name)
                if probability is not None:
                    spots.append(_spot(probability))
                elif name.startswith("Dropout") and not node.args and not node.keywords:
                    assert node.end_lineno is not None and node.end_col_offset is not None
                    spots.append(
                        (node.end_lineno, node.end_col_offset - 1, node.end_col_offset - 1, "0.0")
                    )
                spots += [
                    _spot(one.value)
                    for one in node.keywords
                    if "drop" in (one.arg or "") and _positive(one.value)
                ]
            case ast.arguments():
                every = [*node.posonlyargs, *node.args]
                paired = list(
                    zip(every[len(every) - len(node.defaults) :], node.defaults, strict=True)
                )
                paired += [
                    (one, value)
                    for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)
                    if value
                ]
                spots += [
                    _spot(value) for one, value in paired if "drop" in one.arg and _positive(value)
                ]
            case _:
                pass
    lines = [line.encode() for line in body.split("\n")]
    for number, start, end, text in sorted(set(spots), reverse=True):
        line = lines[number - 1]
        lines[number - 1] = line[:start] + text.encode() + line[end:]
    return b"\n".join(lines).decode(), len(set(spots))


def _probability(call: ast.Call, name: str) -> ast.expr | None:
    """The literal probability of `nn.Dropout(0.1)` or `F.dropout(x, 0.1)`."""
    place = (
        0
        if name.startswith(("Dropout", "AlphaDropout"))
        else 1
        if name.startswith("dropout")
        else None
    )
    if place is None:
        return None
    given = call.args[place] if len(call.args) > place else None
    given = given or next((one.value for one in call.keywords if one.arg == "p"), None)
    return given if given is not None and _positive(given) else None


def _positive(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (float, int) and value.value > 0


def _spot(value: ast.expr) -> tuple[int, int, int, str]:
    assert value.end_col_offset is not None
    return (value.lineno, value.col_offset, value.end_col_offset, "0.0")
