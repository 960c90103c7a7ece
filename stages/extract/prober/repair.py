"""Reads an error as a hint: which size, rank, type or argument should have been another one."""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from . import lexicon
from .attempt import Outcome, Program
from .guesses import by_rank, optional, variants
from .state import Input, Path, State

_N = r"(\d+)"
_PAIRS = (
    # (pattern, group that is wrong, group that is wanted)
    (rf"mat1 and mat2 shapes cannot be multiplied \(\d+x{_N} and {_N}x\d+\)", 1, 2),
    (rf"same reduction dim, but got \[\d+, {_N}\] X \[{_N}", 1, 2),
    (rf"to have {_N} channels, but got {_N} channels", 2, 1),
    (rf"running_mean should contain {_N} elements not {_N}", 1, 2),
    (rf"weight should contain {_N} elements not {_N}", 1, 2),
    (rf"weight of size \[\d+, {_N}[^\]]*\], expected input\[\d+, {_N}", 2, 1),
    (rf"vector of size equal to the number of channels in input, but got weight of shape \[{_N}\] and input of shape \[\d+, {_N}", 2, 1),
    (rf"normalized_shape=\[(?:\d+, )*{_N}\], expected input with shape .*? input of size ?\[(?:\d+, )*{_N}\]", 2, 1),
    (rf"normalized_shape=\[{_N}, .*?input of size ?\[(?:\d+, )*?{_N}, \d+\]", 2, 1),
    (rf"size of tensor a \({_N}\) must match the size of tensor b \({_N}\)", 1, 2),
    (rf"Expected size {_N} but got size {_N}", 2, 1),
    (rf"expanded size of the tensor \({_N}\) must match the existing size \({_N}\)", 2, 1),
    (rf"input\.size\(-1\) must be equal to input_size\. Expected {_N}, got {_N}", 2, 1),
    (rf"has inconsistent (?:input_size|hidden_size): got {_N},? expected {_N}", 1, 2),
    (rf"Expected input batch_size \({_N}\) to match target batch_size \({_N}\)", 2, 1),
    (rf"expecting embedding dimension of {_N}, but got {_N}", 2, 1),
    (rf"number of features.*? equal.*?feature number must be equal to the input.*? {_N}.*?{_N}", 2, 1),
    (rf"got {_N},? but expected {_N}", 1, 2),
    (rf"got:? {_N} and {_N}", 2, 1),
    (rf"Expected input_dim {_N},? got {_N}", 2, 1),
    (rf"Expected size for first two dimensions of batch2 tensor to be: \[\d+, {_N}\] but got: \[\d+, {_N}\]", 2, 1),
    (rf"Expected size for first two dimensions of batch2 tensor to be: \[{_N}, \d+\] but got: \[{_N}, \d+\]", 2, 1),
    (rf"size mismatch, got input \(\d+\), mat \(\d+x{_N}\), vec \({_N}\)", 2, 1),
    (rf"Expected {_N} channels.*?got {_N}", 2, 1),
    (rf"subscript \w has size {_N} for operand \d+ which does not broadcast with previously seen size {_N}", 1, 2),
    (rf"inconsistent tensor size.*?\[{_N}\].*?\[{_N}\]", 2, 1),
    (rf"shape mismatch: .*?\[(?:\d+, )*{_N}\].*?\[(?:\d+, )*{_N}\]", 2, 1),
    (rf"{_N} ?(?:!=|vs\.?|and|is not equal to|does not match|doesn't match) ?{_N}", 1, 2),
    (rf"[Ee]xpected {_N},? (?:but )?(?:got|found) {_N}", 2, 1),
)  # fmt: skip

_RANKS = (
    rf"[Ee]xpected {_N}D ",
    rf"[Ee]xpected .*?{_N}-?D (?:input|tensor|\(batched\))",
    rf"(?:un)?batched\) or {_N}D \(batched\)",
    rf"too many values to unpack \(expected {_N}\)",
    rf"not enough values to unpack \(expected {_N}",
    rf"not enough values to unpack \(expected at least {_N}",
    rf"is not equal to len\(dims\) = {_N}",
    rf"{_N} dimensional",
    rf"must (?:be|have) {_N}[ -]?[Dd]",
    rf"expected {_N} dim",
)


def repairs(
    state: State,
    failed: Outcome,
    optionals: dict[str, str],
    constructor: list[str],
    program: Program,
) -> Iterator[State]:
    """Gives better guesses, the likeliest first."""
    if failed.stage == 2:
        yield from _scalars(state, failed)
        yield from _types(state, failed)
        yield from _missing(state, failed, optionals)
        yield from _met(state, failed)
    elif failed.kind == "TooCostly":
        yield from _smaller_model(state, program)
    yield from _sizes(state, failed, program)
    if failed.stage == 2:
        yield from _ranks(state, failed)
        yield from _reshapes(state, failed)
        yield from _shape_copies(state, failed)
        yield from _alternatives_of_inputs(state, failed, optionals)
    yield from _optional_arguments(state, failed, constructor, program)
    yield from _alternatives_of_arguments(state, failed, program)


def _optional_arguments(
    state: State, failed: Outcome, constructor: list[str], program: Program
) -> Iterator[State]:
    """A constructor argument whose default None does not do."""
    if "None" not in failed.message:
        return
    words = set(re.findall(r"\w+", " ".join(line for _, line in failed.lines[-3:])))
    names = [name for name in constructor if state.arg(name) is None]
    for name in sorted(names, key=lambda name: name not in words):
        if name in words or len(names) <= 3:
            found, _ = program.candidates(name)
            for value in found[:3]:
                if value != "None":
                    yield state.with_arg(name, value)


def _sizes(state: State, failed: Outcome, program: Program) -> Iterator[State]:
    if failed.kind == "TooCostly" or "too large a guess" in failed.message:
        yield from _cheaper(state)
        if failed.stage == 2:
            yield from _smaller_model(state, program)
        return
    yield from _pictures(state, failed)
    for one, other in failed.compared[:4]:
        yield from _equate(state, one, other)
    for pattern, wrong, wanted in _PAIRS:
        match = re.search(pattern, failed.message)
        if match:
            yield from _equate(state, int(match[wrong]), int(match[wanted]))
            return
    match = re.search(
        r"divisible by num_groups.*?shape \[\d+, (\d+).*?num_groups=(\d+)", failed.message
    )
    if match:
        for times in (1, 2, 4):
            yield from itertools.islice(_equate(state, int(match[1]), int(match[2]) * times), 3)
    match = re.search(
        r"maximum size for tensor at dimension -?\d+ is (\d+) but size is (\d+)", failed.message
    )
    if match:
        yield from _equate(state, int(match[1]), int(match[2]) * 8)
    match = re.search(
        r"expects split_sizes to sum exactly to (\d+).*?split_sizes=\[([\d, ]+)\]", failed.message
    )
    if match:
        yield from _equate(state, int(match[1]), sum(int(part) for part in match[2].split(",")))
    match = re.search(
        r"Provided sizes \[([-\d, ]+)\] don't multiply up to the size of dim -?\d+ \((\d+)\)",
        failed.message,
    )
    if match:
        product = math.prod(abs(int(part)) for part in match[1].split(","))
        for times in (1, 2, 4):
            yield from itertools.islice(_equate(state, int(match[2]), product * times), 4)
    if re.search(r"divisible", failed.message) or re.search(r"%", _last(failed)):
        yield from _divisible(state, failed)
    if re.search(
        r"size is too small|[Kk]ernel size can't be greater|Padding size should be less|smaller than|must be greater|more than 1 (value|spatial)",
        failed.message,
    ):
        yield from _scaled(state, (2, 4, 7))
    match = re.search(r"Dimension out of range.*but got (\d+)", failed.message)
    if match:
        for name, source in state.args:
            if source == match[1]:
                yield state.with_arg(name, "1")
    if re.search(
        r"out of range in self|out of bounds|index \d+ is out|Class values must be smaller",
        failed.message,
    ):
        for one in state.inputs or ():
            for bound in (10, 4, 2):
                smaller = one.changed(partial(_bounded, bound=bound))
                if smaller != one:
                    yield state.with_input(smaller)
        yield from _scaled(state, (0.5,))


def _pictures(state: State, failed: Outcome) -> Iterator[State]:
    """The height and width that a model for pictures of one size asks for."""
    match = re.search(
        r"[Ii]nput (?:image )?(?:size|height|width) \((?:\d+)(?:\*\d+)?\) doesn't match (?:the )?(?:image size of the )?model \((\d+)(?:\*(\d+))?\)",
        failed.message,
    )
    if not match:
        return
    height, width = int(match[1]), int(match[2] or match[1])
    for one in state.inputs or ():
        if len(one.dims) > 3:
            yield state.with_input(replace(one, dims=(*one.dims[:-2], height, width)))


def _bounded(one: Input, bound: int) -> Input:
    if one.dtype == "int64" and one.bound > bound:
        return replace(one, bound=bound)
    return one


def _equate(state: State, wrong: int, wanted: int) -> Iterator[State]:
    """Makes the variable that is `wrong` equal to what is wanted, or the other way round."""
    if wrong == wanted:
        return
    variables = [(path, size) for path, size in state.variables() if _is_size(path, size)]
    axes = [one for one in variables if one[0][0] != "arg"]
    arguments = [one for one in variables if one[0][0] == "arg"]
    for group in (axes, arguments):
        for source, target in ((wrong, wanted), (wanted, wrong)):
            for path, size in group:
                if size == source:
                    changed = state.with_variable(path, target)
                    for other, value in variables:
                        if value == target and other != path:
                            changed = changed.linked(path, other)
                    yield changed
    for source, target in ((wrong, wanted), (wanted, wrong)):
        for path, size in variables:
            if size < 2 or source < 1 or target < 1:
                continue
            if source % size == 0 and source != size and target % (source // size) == 0:
                yield state.with_variable(path, target // (source // size))
            elif size % source == 0 and size != source:
                yield state.with_variable(path, target * (size // source))
        for path, size in variables:
            if 0 < abs(source - size) <= 4 and target - source + size > 0:
                yield state.with_variable(path, target - source + size)
        for path, size in variables:
            for other, value in variables:
                if path < other and size + value == source and target > value:
                    yield state.with_variable(path, target - value)
    yield from _spatial(state, wrong, wanted)


def _is_size(path: Path, size: int) -> bool:
    """Whether a variable may take any value: kernel sizes and head counts may not."""
    if path[0] != "arg":
        return True
    return size >= 16 or lexicon.values(path[1].split(".")[-1])[1]


def _spatial(state: State, wrong: int, wanted: int) -> Iterator[State]:
    """Searches the picture or sequence whose flattened size is wanted."""
    for one in state.inputs or ():
        if one.kind != "tensor" or one.dtype == "bool":
            continue
        if len(one.dims) in (4, 5):
            area = one.dims[-1] * one.dims[-2]
            ideal = (wanted * area / max(wrong, 1)) ** 0.5
            sides = sorted(
                {28, 32, 64, 84, 96, 128, 224, 8, 16, 14, 7, round(ideal)},
                key=lambda side: (abs(side - ideal), side),
            )
            for side in sides[:5]:
                yield state.with_input(replace(one, dims=(*one.dims[:-2], side, side)))
        elif len(one.dims) in (2, 3):
            length = round(one.dims[-1] * wanted / max(wrong, 1))
            if 0 < length < 65536:
                yield state.with_input(replace(one, dims=(*one.dims[:-1], length)))
            if len(one.dims) == 3:
                length = round(one.dims[1] * wanted / max(wrong, 1))
                if 0 < length < 65536:
                    yield state.with_input(replace(one, dims=(one.dims[0], length, one.dims[2])))


def _divisible(state: State, failed: Outcome) -> Iterator[State]:
    numbers = {int(number) for number in re.findall(r"\d+", failed.message)}
    for path, size in state.variables():
        if size in numbers or path[0] == "arg":
            for better in (64, 8, 1, 4, 2, 128, 32, 16):
                if better != size and (better < 64) == (size < 32):
                    yield state.with_variable(path, better)


def _cheaper(state: State) -> Iterator[State]:
    """Smaller inputs: the picture or the sequence first, then the rest but the batch, then the batch."""
    yield from _scaled(state, (0.5, 0.25), last_too=False)
    yield from _scaled(state, (0.5, 0.25))
    yield replace(state, inputs=tuple(one.changed(_one_sample) for one in state.inputs or ()))


def _scaled(state: State, factors: tuple[float, ...], last_too: bool = True) -> Iterator[State]:
    for factor in factors:
        change = partial(_stretched, factor=factor, last_too=last_too)
        yield replace(state, inputs=tuple(one.changed(change) for one in state.inputs or ()))


def _stretched(one: Input, factor: float, last_too: bool) -> Input:
    """The axes that hold positions: those after the channels, of sequences the one after the batch."""
    rank = len(one.dims)
    first, last = (2, rank) if rank > 3 else (1, 3 if last_too else 2) if rank == 3 else (0, 0)
    if rank == 2 and one.dtype == "int64":  # token ids: a batch of sequences
        first, last = 1, 2
    stretched = (max(1, int(size * factor)) for size in one.dims[first:last])
    return replace(one, dims=(*one.dims[:first], *stretched, *one.dims[last:]))


def _one_sample(one: Input) -> Input:
    is_batch = len(one.dims) > 2 or (len(one.dims) == 2 and one.dtype == "int64")
    return replace(one, dims=(1, *one.dims[1:])) if is_batch else one


def _ranks(state: State, failed: Outcome) -> Iterator[State]:
    wanted = []
    for pattern in _RANKS:
        match = re.search(pattern, failed.message)
        if match:
            wanted.append(int(match[1]))
    match = re.search(
        r"Dimension out of range \(expected to be in range of \[-\d+, (\d+)\], but got (-?\d+)\)",
        failed.message,
    )
    if match:
        wanted.append(int(match[2]) + 1 if int(match[2]) >= 0 else -int(match[2]))
    if "tuple index out of range" in failed.message:
        asked = re.findall(r"shape\[(\d+)\]", _last(failed))
        wanted += [max(int(place) for place in asked) + 1] if asked else []
    match = re.search(r"too many indices for tensor of dimension (\d+)", failed.message)
    if match:
        wanted += [int(match[1]) + 1, int(match[1]) + 2]
    match = re.search(
        r"number of dimensions in the tensor input does not match.*input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)",
        failed.message,
    )
    if match:
        wanted = [int(match[2])]
    match = re.search(r"Padding size (\d+) is not supported", failed.message)
    if match:
        wanted.append(2 + int(match[1]) // 2)
    match = re.search(
        r"number of subscripts in the equation \((\d+)\) does not match the number of dimensions \((\d+)\) for operand (\d+)",
        failed.message,
    )
    if match:
        wanted.append(int(match[1]))
    for rank in dict.fromkeys(wanted):
        if 0 < rank <= 6:
            for one in _suspects(state, failed):
                if one.kind == "tensor" and len(one.dims) != rank:
                    yield state.with_input(by_rank(one, rank, state))
                    if len([other for other in state.inputs or () if other.kind == "tensor"]) > 1:
                        yield replace(
                            state,
                            inputs=tuple(
                                by_rank(other, rank, state)
                                if other.kind == "tensor" and len(other.dims) == len(one.dims)
                                else other
                                for other in state.inputs or ()
                            ),
                        )
                elif one.items:
                    items = tuple(
                        by_rank(item, rank, state) if item.kind == "tensor" else item
                        for item in one.items
                    )
                    yield state.with_input(replace(one, items=items))
                    if rank < 6 and "unpack" in failed.message:
                        yield state.with_input(replace(one, items=(one.items * rank)[:rank]))
                if one.kind == "tensor" and "unpack" in failed.message and rank <= 5:
                    yield state.with_input(
                        replace(one, kind="tuple", items=(replace(one, items=()),) * rank, dims=())
                    )
    lacking = _lacking(failed.message)
    for one in _suspects(state, failed) if lacking else ():
        rank = len(one.dims) + lacking
        if one.kind == "tensor" and 0 < rank <= 6 and rank not in wanted:
            yield state.with_input(by_rank(one, rank, state))


def _lacking(message: str) -> int:
    """How many axes too few a tensor has that was made from an input; negative for too many."""
    for pattern in (
        r"not enough values to unpack \(expected (?P<wanted>\d+), got (?P<got>\d+)\)",
        r"input\.dim\(\) = (?P<got>\d+) is not equal to len\(dims\) = (?P<wanted>\d+)",
        r"expected to be in range of \[-(?P<got>\d+), \d+\], but got -(?P<wanted>\d+)",
    ):
        match = re.search(pattern, message)
        if match:
            return int(match["wanted"]) - int(match["got"])
    match = re.search(r"expected to be in range of \[-(\d+), \d+\], but got (\d+)", message)
    return int(match[2]) + 1 - int(match[1]) if match else 0


_NUMBER = re.compile(
    r"must be tuple of ints, ?but (?:got|found element of type) Tensor|must be tuple of (?:ints|SymInts), not Tensor|"
    r"must be int, not Tensor|only integer tensors of a single element|interpreted as an integer|"
    r"slice indices must be integers|argument 'size'.* Tensor|an integer is required|must be an integer"
)
_FLAG = re.compile(r"[Bb]ool(ean)? value of Tensor with more than one value")


def _scalars(state: State, failed: Outcome) -> Iterator[State]:
    """A number, two numbers or a flag in the place of a tensor."""
    is_number, is_flag = _NUMBER.search(failed.message), _FLAG.search(failed.message)
    if not (is_number or is_flag):
        return
    words = set(re.findall(r"\w+", " ".join(line for _, line in failed.lines)))
    inputs = [one for one in state.inputs or () if one.kind != "value"]
    # The first input is hardly ever the number.
    inputs = sorted(inputs[1:], key=lambda one: one.name not in words) + inputs[:1]
    line = " ".join(line for _, line in failed.lines)
    for one in inputs:
        if is_flag:
            sources = ["False", "True", "None"]
        elif re.search(rf"{one.name}\[|= {one.name}$|\*{one.name}\b", line) or one.items:
            sources = [str(_sides(state)), "8"]
        else:
            sources = ["8", str(_sides(state))]
        for source in sources:
            value = Input(one.name, kind="value", source=source)
            yield state.with_input(value)


def _sides(state: State) -> tuple[int, int]:
    """Height and width of the picture whose places are the axis of a sequence."""
    for one in state.inputs or ():
        if len(one.dims) == 3:
            length = one.dims[1]
            height = next(side for side in range(int(length**0.5), 0, -1) if length % side == 0)
            return height, length // height
    return 8, 10


_MEETING = re.compile(
    r"must match the size of tensor b|Tensors must have same number of dimensions|"
    r"Sizes of tensors must match except in dimension (\d+)|shape of the mask|"
    r"target size .* different to the input size|shapes? (?:do not|don't) match"
)


def _met(state: State, failed: Outcome) -> Iterator[State]:
    """An input that meets another tensor as it came in takes this one's shape, all axes at once."""
    match = re.search(r"[Ee]xpected target size \[([\d, ]+)\], got \[([\d, ]+)\]", failed.message)
    if match:
        wanted, got = (tuple(int(part) for part in text.split(",")) for text in match.groups())
        pairs = [(got, wanted)]
    else:
        match = _MEETING.search(failed.message)
        if not match or len(failed.shapes) < 2:
            return
        first = failed.shapes[0]
        other = next((one for one in failed.shapes[1:] if one != first), first)
        kept = int(match[1]) if match[1] else None
        pairs = [
            (mine, _but(theirs, mine, kept)) for mine, theirs in ((other, first), (first, other))
        ]
    for mine, theirs in pairs:
        for one in reversed(state.inputs or ()):
            if one.kind == "tensor" and one.dims and (new := _shape_for(one.dims, mine, theirs)):
                yield _reshaped(state, one, new)


def _but(shape: tuple[int, ...], own: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    """The shape with its own size along the axis that may differ."""
    if axis is None or len(shape) != len(own):
        return shape
    return (*shape[:axis], own[axis], *shape[axis + 1 :])


def _shape_for(
    dims: tuple[int, ...], mine: tuple[int, ...], theirs: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape with which an input, perhaps with axes of one put in, fits; empty if it is not meant."""
    if mine == dims:
        return theirs if theirs != dims else ()
    places = [place for place, size in enumerate(mine) if size != 1]
    if tuple(mine[place] for place in places) != dims:
        return ()
    shift = len(theirs) - len(mine)
    new = tuple(theirs[at + shift] if at + shift >= 0 else mine[at] for at in places)
    return new if new != dims else ()


def _reshaped(state: State, one: Input, dims: tuple[int, ...]) -> State:
    """The state with that shape, each axis tied to what has its size."""
    changed = state.with_input(replace(one, dims=dims))
    variables = [pair for pair in state.variables() if pair[0][:2] != ("axis", one.name)]
    for axis, size in enumerate(dims):
        for path, value in variables:
            if value == size and size > 1 and _is_size(path, value):
                changed = changed.linked(("axis", one.name, str(axis)), path)
    return changed


_DEPTH = re.compile(r"\w*(depths?|layers?|blocks|num_stages|repeats?)")


def _smaller_model(state: State, program: Program) -> Iterator[State]:
    """Fewer layers, then narrower ones, of what the arguments and their defaults say."""
    whole = {**program.integers, **{n: int(s) for n, s in state.args if s.isdigit()}}
    last = {name: name.split(".")[-1] for name in whole}
    shallow = state
    for name, value in whole.items():
        if _DEPTH.fullmatch(last[name]) and value > 2:
            shallow = shallow.with_arg(name, "2")
    for name, source in state.args:
        if re.fullmatch(r"[\[(](\d+, )+\d+[\])]", source) and _DEPTH.fullmatch(name.split(".")[-1]):
            shallow = shallow.with_arg(
                name, re.sub(r"\d+", lambda m: str(min(int(m[0]), 2)), source)
            )
    if shallow != state:
        yield shallow
    for factor in (4, 16):
        narrow = shallow
        for name, value in whole.items():
            if value >= 256 and value % factor == 0 and not _DEPTH.fullmatch(last[name]):
                narrow = narrow.with_arg(name, str(value // factor))
        if narrow != shallow:
            yield narrow


def _types(state: State, failed: Outcome) -> Iterator[State]:
    text = failed.message
    if re.search(
        r"scalar types?:? ?(\w+, )*Long|indices.*(Long|int64)|dtype int64|must be long|type Long|index tensor|expected.*(int64|Long)|class values? .*smaller|torch\.LongTensor|as indices must be|integer tensor|to be.*Long|Index tensor|not implemented for 'Float'|tensors used as indices|slice indices must be integers|only integer tensors|can only be applied to.*integ",
        text,
    ):
        for one in _suspects(state, failed):
            changed = one.changed(partial(_typed, dtype="int64"))
            if changed != one:
                yield state.with_input(changed)
    if re.search(r"[Bb]ool(ean)?|~ \(operator|bitwise_not", text):
        for one in _suspects(state, failed):
            changed = one.changed(partial(_typed, dtype="bool"))
            if changed != one:
                yield state.with_input(changed)
    if re.search(
        r"[Ff]loat|Long|not implemented for 'Bool'|same dtype|floating|subtract.*bool|must have the same dtype|to have the same dtype",
        text,
    ):
        for one in _suspects(state, failed):
            changed = one.changed(partial(_typed, dtype="float32"))
            if changed != one:
                yield state.with_input(changed)
    if re.search(r"[Cc]omplex", text):
        for one in _suspects(state, failed):
            yield state.with_input(replace(one, dtype="complex64"))


def _typed(one: Input, dtype: str) -> Input:
    if one.kind != "tensor" or one.dtype == dtype:
        return one
    return replace(one, dtype=dtype, bound=10 if dtype == "int64" else 0)


def _missing(state: State, failed: Outcome, optionals: dict[str, str]) -> Iterator[State]:
    """An optional argument that is needed after all."""
    asked = re.search(r"specify|has to be|have to|must be|required|provide|pass", failed.message)
    for name in optionals if asked else ():
        if re.search(rf"\b{name}\b", failed.message) and all(
            name != one.name and not re.search(rf"\b{one.name}\b", failed.message)
            for one in state.inputs or ()
        ):
            yield state.with_input(optional(name, state))
    if (
        "NoneType" not in failed.message
        and "None" not in failed.message
        and failed.kind != "AssertionError"
    ):
        return
    given = {one.name for one in state.inputs or ()}
    words = set(re.findall(r"\w+", " ".join(line for _, line in failed.lines)))
    names = [name for name in optionals if name not in given]
    for name in sorted(names, key=lambda name: name not in words):
        if name in words or len(names) <= 2:
            yield state.with_input(optional(name, state))


def _reshapes(state: State, failed: Outcome) -> Iterator[State]:
    match = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", failed.message)
    if not match:
        return
    shape = [int(part) for part in match[1].split(",")]
    total = int(match[2])
    fixed = 1
    for part in shape:
        fixed *= abs(part)
    variables = state.variables()
    for path, size in variables:
        if (
            size
            and total % size == 0
            and path[0] == "axis"
            and path[-1] != "0"
            and fixed % (total // size) == 0
        ):
            yield state.with_variable(path, fixed // (total // size))
    for path, size in variables:
        if path[0] == "axis" and path[-1] != "0":
            for part in shape:
                if part > 1 and part != size:
                    yield state.with_variable(path, part)
    for path, _ in variables:
        if path[0] == "axis" and path[-1] != "0" and -1 in shape:
            yield state.with_variable(path, fixed)
    for one in state.inputs or ():
        if one.kind == "tensor" and len(one.dims) == 3:
            for length in (64, 49, 196, 256, 197, 65, 16):
                yield state.with_input(replace(one, dims=(one.dims[0], length, one.dims[2])))
        if one.kind == "tensor" and len(one.dims) == 4:
            for side in (64, 28, 224, 56, 8):
                yield state.with_input(replace(one, dims=(*one.dims[:2], side, side)))


def _shape_copies(state: State, failed: Outcome) -> Iterator[State]:
    """Two inputs that had better have one shape."""
    tensors = [one for one in state.inputs or () if one.kind == "tensor"]
    if len(tensors) < 2:
        return
    for one in tensors[1:]:
        if one.dims != tensors[0].dims:
            yield _same_shape(state, one, tensors[0])
    if len(tensors) > 2:
        changed = state
        for one in tensors[1:]:
            changed = _same_shape(changed, one, tensors[0])
        yield changed


def _same_shape(state: State, one: Input, model: Input) -> State:
    changed = state.with_input(replace(one, dims=model.dims))
    for index in range(len(model.dims)):
        changed = changed.linked(("axis", one.name, str(index)), ("axis", model.name, str(index)))
    return changed


def _alternatives_of_inputs(
    state: State, failed: Outcome, optionals: dict[str, str]
) -> Iterator[State]:
    for one in _suspects(state, failed)[:3]:
        for other in variants(one, state, f"{failed.kind}: {failed.message}"):
            if other != one:
                yield state.with_input(other)


def _alternatives_of_arguments(state: State, failed: Outcome, program: Program) -> Iterator[State]:
    words = set(
        re.findall(r"\w+", " ".join(line for _, line in failed.lines[-3:]) + " " + failed.message)
    )
    if failed.stage == 2 and not re.search(
        r"not callable|object|module|argument|unsupported|NoneType|not iterable|subscript|divis|invalid|modulo|out of range|support|unknown|Unknown|choose|mode",
        failed.message,
    ):
        return
    names = [name for name, _ in state.args]
    # A config that is read is one: what it holds is to blame.
    read = {name.rsplit(".", 1)[0] for name in names if "." in name}
    names = [name for name in names if name not in read]
    suspects = [
        name
        for name in names
        if name.split(".")[-1] in words or name.split(".")[-1].strip("_") in words
    ]
    if failed.stage < 2:
        suspects += [name for name in reversed(names) if name not in suspects]
    for name in suspects[:6]:
        old = state.arg(name)
        found, _ = program.candidates(name.split(".")[-1])
        options = list(found)
        options += ["nn.ReLU", "nn.Identity()", "64", "2", "[64, 128]", "None", "(64, 64)", "False"]
        if (
            "iterable" in failed.message
            or "subscript" in failed.message
            or "len()" in failed.message
        ):
            options = [
                "[64, 128]",
                "(8, 8)",
                "[2, 2, 2, 2]",
                "[64, 128, 256, 512]",
                lexicon.CONFIG,
                "{}",
                *options,
            ]
        if "not callable" in failed.message:
            options = [
                "nn.ReLU",
                "nn.Identity",
                "nn.Identity()",
                "nn.BatchNorm2d",
                "nn.LayerNorm",
                "nn.Conv2d",
                "F.relu",
                *options,
            ]
        if "has no attribute" in failed.message:
            options = [lexicon.CONFIG, "nn.Identity()", "nn.Linear(64, 64)", "'relu'", *options]
        if (
            "unhashable" in failed.message
            or "KeyError" in failed.kind
            or "concatenate str" in failed.message
        ):
            options = [option for option in options if option.startswith("'")] + options
        if (
            "cannot be interpreted as an integer" in failed.message
            or "must be int" in failed.message
        ):
            options = ["64", "2", "1", *options]
        for option in list(dict.fromkeys(options))[:10]:
            if option != old:
                plain = replace(
                    state,
                    args=tuple(
                        (key, value) for key, value in state.args if not key.startswith(name + ".")
                    ),
                )
                yield plain.with_arg(name, option)


def _suspects(state: State, failed: Outcome) -> list[Input]:
    """Inputs, those that the failing line of `forward` names first."""
    text = " ".join(line for where, line in failed.lines)
    words = re.findall(r"\w+", text)
    first = list(failed.shapes)

    def rank(one: Input) -> tuple[int, int]:
        named = 0 if one.name in words else 1
        shaped = 0 if one.dims in first else 1
        return (shaped, named)

    return sorted(state.inputs or (), key=rank)


def _last(failed: Outcome) -> str:
    return failed.lines[-1][1] if failed.lines else ""


__all__ = ["Path", "repairs"]
