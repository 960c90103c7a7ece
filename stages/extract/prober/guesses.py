"""First guesses of forward inputs: from hints, names, and the kinds of layers in the model."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from .attempt import is_lazy
from .state import Input, State, axes

BATCH, LENGTH, HEIGHT, WIDTH, DEPTH = 4, 80, 32, 48, 8
FEATURES = (96, 112, 144, 160, 176, 208, 224, 240)
"""Sizes of axes of which nothing is known: unlike each other and unlike constructor arguments."""
LENGTHS_OF = (LENGTH, 56, 72, 88, 104, 120)

LONG = re.compile(
    r"\w*(_ids?|_idx|idxs?|index|indices|indexes|tokens?|captions?|words?|sentences?|seqs?|sequence|_seq|labels?|classes|positions?|"
    r"chars?|input_ids|ids|src|trg|tgt|texts?|timesteps?|documents?|questions?|history|items?|users?|y_true|edge_index|batch_index|"
    r"lengths?|lens?|seq_lens?|x_len\w*|\w*lengths?|category|categories|numbers|step)"
)
LENGTHS = re.compile(
    r"\w*(lengths?|lens?|_len|timesteps?|time_?steps?)|t|step|label|labels|target_length|user|item|users|items"
)
MASK = re.compile(r"\w*mask\w*|valid|pad\w*|attn_bias|visible")
SIZES = {"h": HEIGHT, "H": HEIGHT, "height": HEIGHT, "w": WIDTH, "W": WIDTH, "width": WIDTH, "batch_size": BATCH, "bs": BATCH,
         "seq_len": LENGTH, "seq_length": LENGTH, "length": LENGTH, "max_len": LENGTH, "n": LENGTH, "bsz": BATCH, "max_seq_len": LENGTH,
         "T": LENGTH, "D": DEPTH, "num_frames": 8, "B": BATCH, "N": LENGTH, "layer_idx": 0, "query_length": LENGTH, "key_length": LENGTH}  # fmt: skip
FLAT = {"h": 8, "H": 8, "height": 8, "w": LENGTH // 8, "W": LENGTH // 8, "width": LENGTH // 8}
"""Sides of a picture that comes in as a sequence of its places."""
PICTURE = re.compile(
    r"\w*(image|img|frame|picture|rgb|pixel|photo|fmap|feature_map|heatmap|depth|disp|flow|video)\w*"
)
VECTOR = re.compile(
    r"z|\w*(latent|noise|cond|vec|style|action|state|obs\w*|logits?|scores?|emb|temb|w|code|mu|logvar|sigma|anchor|positive|negative|preds?|output1|output2)\w*"
)
SEQUENCE = re.compile(
    r"\w*(hidden|embed|query|key|value|memory|context|token|patch|sequence|seq)\w*|q|k|v|src|tgt|enc\w*|dec\w*|word\w*|qkv|queries|keys|values|encoder_out\w*"
)

_FAMILIES = (
    (re.compile(r"Conv3d|BatchNorm3d|MaxPool3d|ConvTranspose3d|AvgPool3d|InstanceNorm3d|AdaptiveAvgPool3d"), (5, 4, 3)),
    (re.compile(r"(Lazy)?Conv2d|BatchNorm2d|MaxPool2d|ConvTranspose2d|AvgPool2d|Upsample\w*|PixelShuffle|InstanceNorm2d|Adaptive\w+2d|Dropout2d|\w+Pad2d|Unfold|PixelUnshuffle|SyncBatchNorm|Conv2dNormActivation"), (4, 3, 5, 2)),
    (re.compile(r"Conv1d|MaxPool1d|ConvTranspose1d|AvgPool1d|InstanceNorm1d|Adaptive\w+1d|\w+Pad1d"), (3, 2, 4)),
    (re.compile(r"LSTMCell|GRUCell|RNNCell"), (2, 3)),
    (re.compile(r"LSTM|GRU|RNN|MultiheadAttention|Transformer\w*|LayerNorm|RMSNorm"), (3, 2, 4)),
    (re.compile(r"BatchNorm1d"), (2, 3)),
    (re.compile(r"GroupNorm"), (4, 3)),
    (re.compile(r"Linear|Bilinear"), (3, 2, 4)),
)  # fmt: skip


def first_guesses(
    required: list[str], model: torch.nn.Module, hints: Mapping[str, Any], code: str
) -> Iterator[tuple[Input, ...]]:
    """Gives whole sets of inputs, the likeliest first."""
    if not required:
        yield ()
        return
    ranks = preferred_ranks(model, code)
    move = partial(_moved, features=_unused_features(model))
    embeds = _starts_with_embedding(model)
    options = [
        _options(name, index, ranks, hints.get(name), embeds and index == 0)
        for index, name in enumerate(required)
    ]
    longest = max(len(option) for option in options)
    seen = set()
    for step in range(longest):
        guess = tuple(option[min(step, len(option) - 1)].changed(move) for option in options)
        if guess not in seen:
            seen.add(guess)
            yield guess
    for choice in itertools.islice(itertools.product(*(option[:3] for option in options)), 12):
        guess = tuple(one.changed(move) for one in choice)
        if guess not in seen:
            seen.add(guess)
            yield guess


def _unused_features(model: torch.nn.Module) -> dict[int, int]:
    """Replaces sizes that the model has anyway: an equal size would be no proof of a right guess."""
    used = {size for one in [*model.parameters(), *model.buffers()] for size in _shape(one)}
    free = [size for size in (*FEATURES, *range(272, 1024, 16)) if size not in used]
    moved = dict(zip(FEATURES, free, strict=False))
    if LENGTH in used:
        moved[LENGTH] = next(size for size in (48, 72, 88, 104, 120) if size not in used)
    return moved


def _moved(one: Input, features: dict[int, int]) -> Input:
    return replace(one, dims=tuple(features.get(size, size) for size in one.dims))


def preferred_ranks(model: torch.nn.Module, code: str) -> tuple[int, ...]:
    kinds = [
        type(module).__name__
        for module in model.modules()
        if type(module).__module__.startswith("torch.")
    ]
    if (
        "Linear" in kinds[:3]
        and {"BatchNorm1d", "GroupNorm"} & set(kinds)
        and not any("Conv" in kind for kind in kinds)
    ):
        return (2, 3)
    for name in kinds:
        for pattern, ranks in _FAMILIES:
            if pattern.fullmatch(name):
                return ranks
    sizes = [len(_shape(parameter)) for parameter in model.parameters()]
    if 5 in sizes or re.search(r"conv3d|pool3d|, d, h, w|t, h, w", code):
        return (5, 4, 3)
    if 4 in sizes or re.search(
        r"2d\(|pixel_shuffle|interpolate|b, c, h, w|n, c, h, w|H, W|h, w\b|size\(3\)|shape\[3\]",
        code,
    ):
        return (4, 3, 5, 2)
    if re.search(r"1d\(", code) or sizes:
        return (3, 4, 2)
    return (4, 3, 2, 5, 1) if re.search(r"[Ll]oss", code) is None else (2, 4, 3, 1)


def _shape(one: torch.Tensor) -> tuple[int, ...]:
    """The shape; empty while a lazy module has none."""
    return () if is_lazy(one) else tuple(one.shape)


def _starts_with_embedding(model: torch.nn.Module) -> bool:
    for module in model.modules():
        if type(module) in (torch.nn.Embedding, torch.nn.EmbeddingBag):
            return True
        if type(module).__name__ in (
            "Linear",
            "Conv2d",
            "Conv1d",
            "LayerNorm",
            "LSTM",
            "GRU",
            "BatchNorm2d",
        ):
            return False
    return False


def _options(
    name: str, index: int, ranks: tuple[int, ...], hint: Any, embedded: bool
) -> list[Input]:
    plain = name.strip("*_")
    lower = plain.lower()
    start = Input(name, evidence="name table")
    found: list[Input] = []
    if hint:
        found += [_from_hint(name, one, index) for one in hint]
    if name.startswith("*"):
        tensors = [shaped(start, rank, index) for rank in ranks[:2]]
        return [*found, *tensors, replace(start, kind="tuple", items=(tensors[0], tensors[0]))]
    if lower.endswith(("_tuple", "_list")):
        one = shaped(start, ranks[0], index)
        found.append(replace(start, kind="tuple", items=(one, one)))
    if plain in SIZES:
        size = FLAT.get(plain, SIZES[plain]) if ranks[0] == 3 else SIZES[plain]
        found.append(replace(start, kind="value", source=str(size)))
    if MASK.fullmatch(lower):
        found += [
            replace(start, kind="value", source="None"),
            replace(start, dims=(BATCH, LENGTH), dtype="bool", draw="mask"),
            replace(start, dims=(BATCH, 1, LENGTH, LENGTH), draw="ones"),
            replace(start, dims=(BATCH, LENGTH), draw="ones"),
            replace(start, dims=(BATCH, 1, HEIGHT, WIDTH), draw="uniform"),
            replace(start, dims=(LENGTH, LENGTH), draw="ones"),
        ]
        return found
    if re.fullmatch(r"cu_seq_?lens?\w*", lower):
        found.append(replace(start, kind="value", source=f"torch.tensor([0, 16, 48, {LENGTH}])"))
        return found
    if re.search(r"edge_index", lower):
        return [*found, replace(start, dims=(2, 160), dtype="int64", bound=40)]
    if re.fullmatch(
        r"position_embeddings|rotary_pos_emb|rotary_emb|freqs_cis|image_rotary_emb", lower
    ):
        pair = replace(start, dims=(BATCH, LENGTH, 32), evidence="name table")
        found.append(replace(start, kind="tuple", items=(pair, pair)))
    if (LENGTHS.fullmatch(lower) and LONG.fullmatch(lower)) or lower in ("t", "user", "item"):
        found += [
            replace(start, dims=(BATCH,), dtype="int64", bound=10),
            replace(start, dims=(BATCH,), draw="uniform"),
        ]
        if not re.search("label|step|^t$", lower):
            return found
    if LONG.fullmatch(lower) or embedded:
        sequence = replace(
            start, dims=(BATCH, LENGTHS_OF[index % len(LENGTHS_OF)]), dtype="int64", bound=100
        )
        found += [sequence, shaped(start, 3, index), replace(sequence, dims=(BATCH,))]
        if not embedded:
            found += [shaped(start, rank, index) for rank in ranks]
        return found
    order = list(ranks)
    if PICTURE.fullmatch(lower):
        order = [4, 5, *order]
    elif SEQUENCE.fullmatch(lower):
        order = [3, 4, 2, *order] if ranks[0] != 4 else [4, 3, *order]
    elif VECTOR.fullmatch(lower):
        order = [2, *order] if ranks[0] != 4 or index else [*order, 2]
    found += [shaped(start, rank, index) for rank in dict.fromkeys(order)]
    return found


def shaped(start: Input, rank: int, index: int = 0) -> Input:
    """An input of that rank; the index-th input has features and length of its own."""
    features = FEATURES[index % len(FEATURES)]
    dims = {
        0: (),
        1: (features,),
        2: (BATCH, features),
        3: (BATCH, LENGTHS_OF[index % len(LENGTHS_OF)], features),
        4: (BATCH, features, HEIGHT, WIDTH),
        5: (2, features, DEPTH, HEIGHT // 2, WIDTH // 2),
        6: (2, 3, features, 8, 16, 24),
    }[rank]
    return replace(start, kind="tensor", dims=dims, items=(), source="")


def by_rank(one: Input, rank: int, state: State) -> Input:
    """The same input with another rank."""
    if len(one.dims) == rank:
        return one
    names = [other.name for other in state.inputs or ()]
    index = names.index(one.name) if one.name in names else 0
    return shaped(one, rank, index)


_ROLES = {
    "batch": BATCH, "length": LENGTH, "height": HEIGHT, "width": WIDTH, "depth": DEPTH, "frames": 8, "heads": 8, "one": 1, "rgb": 3,
    "two": 2, "head_dim": 32, "points": 256,
}  # fmt: skip


def _from_hint(name: str, hint: Mapping[str, Any], index: int) -> Input:
    if "source" in hint:
        return Input(name, kind="value", source=hint["source"], evidence=hint["evidence"])
    if hint.get("kind") in ("list", "tuple"):
        items = tuple(
            _from_hint(name, item, index + place) for place, item in enumerate(hint["items"])
        )
        return Input(name, kind=hint["kind"], items=items, evidence=hint["evidence"])
    dims = []
    free = iter(FEATURES[index:] + FEATURES[:index])
    own: dict[str, int] = {}
    for role in hint["roles"]:
        if isinstance(role, int):
            dims.append(role)
        elif role in _ROLES:
            dims.append(_ROLES[role])
        else:
            if role not in own:
                own[role] = next(free)
            dims.append(own[role])
    dtype = hint.get("dtype", "float32")
    return Input(
        name,
        dims=tuple(dims),
        dtype=dtype,
        bound=10 if dtype == "int64" else 0,
        evidence=hint["evidence"],
    )


def optional(name: str, state: State) -> Input:
    """A first guess for an optional argument that turned out to be needed."""
    index = len(state.inputs or ())
    tensors = [one for one in state.inputs or () if one.kind == "tensor"]
    rank = len(tensors[0].dims) if tensors else 3
    options = _options(name, index, (rank, 3, 4, 2), None, False)
    options = [one for one in options if one.source != "None"]
    return replace(options[0], evidence="feedback")


def variants(one: Input, state: State, error: str) -> Iterator[Input]:
    """Other forms of an input, the likeliest first."""
    names = [other.name for other in state.inputs or ()]
    index = names.index(one.name) if one.name in names else 0
    if one.kind == "value":
        yield shaped(one, 3, index)
        yield shaped(one, 4, index)
        yield replace(one, source="8", kind="value")
        yield replace(one, source="0.5", kind="value")
        yield replace(one, source="True", kind="value")
        yield replace(one, source="None", kind="value")
        return
    if one.items:
        for count in (2, 3, 4, 5, 1):
            if count != len(one.items):
                yield replace(one, items=(one.items * count)[:count])
        yield replace(one.items[0], name=one.name)
        yield replace(
            one, items=tuple(_halved(item, place) for place, item in enumerate(one.items))
        )
        return
    for rank in (len(one.dims) + 1, len(one.dims) - 1, 4, 3, 2, 1):
        if 0 < rank < 6 and rank != len(one.dims):
            yield shaped(one, rank, index)
    if re.search(
        r"\bint\b|integer|NoneType|bool value of Tensor|not callable|one element tensors", error
    ):
        yield replace(one, kind="value", dims=(), source="8")
        yield replace(one, kind="value", dims=(), source="None")
    plain = replace(one, items=())
    yield replace(one, kind="list", dims=(), items=(plain,) * 2)
    yield replace(one, kind="list", dims=(), items=(plain,) * 4)
    yield replace(one, kind="tuple", dims=(), items=(plain,) * 2)
    if one.dtype == "float32":
        yield replace(one, dtype="int64", bound=10)
    if len(one.dims) == 4:
        yield replace(one, dims=(one.dims[0], one.dims[2], one.dims[3], one.dims[1]))
    if len(one.dims) == 3:
        yield replace(one, dims=(one.dims[0], one.dims[2], one.dims[1]))


def _halved(item: Input, place: int) -> Input:
    if item.kind != "tensor" or len(item.dims) < 4:
        return item
    return replace(item, dims=(*item.dims[:2], *(max(1, size >> place) for size in item.dims[2:])))


__all__ = ["axes", "first_guesses", "optional", "shaped", "variants"]
