"""What a tape costs: FLOPs, bytes and live memory, from shapes alone.

Counting rules (policy 1):
- matrix products, convolutions and attention by torch's own formulas (2 per multiply-add), plus
  fused CPU attention and recurrent layers, which torch counts as 0 (pytorch issue 195460). A causal
  mask is counted dense: an upper bound;
- a reduction costs one per element read, a norm or softmax 5;
- a pointwise operation costs one per element written, a transcendental one 4;
- views, copies and factories cost nothing.
Bytes, fused: each storage that the forward takes in (inputs, parameters, buffers actually read)
and each output once: no kernel can move less. A gathered table (embedding, index) counts the rows
taken. Bytes, unfused: what every operation reads and writes by itself.
"""

from collections import Counter
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from pipeline.tracing import ops
from pipeline.tracing.tape import Call, Tape, filled, flat

TRANSCENDENTAL_FLOPS = 4  # a polynomial of small degree; the order of magnitude is what matters
OUR_OWN = frozenset(["_scaled_dot_product_flash_attention_for_cpu", "mkldnn_rnn_layer"])
NORM_FLOPS = 5  # mean, difference, square, sum, scale
GATHERS = frozenset(["embedding", "index", "gather", "index_select", "take", "_unsafe_index"])
NORMS = frozenset((
    "softmax", "_softmax", "_log_softmax", "log_softmax", "_safe_softmax", "native_layer_norm",
    "native_group_norm", "native_batch_norm", "_native_batch_norm_legit_no_training",
    "_fused_rms_norm", "logsumexp", "std", "var", "var_mean", "std_mean", "batch_norm",
))  # fmt: skip


def op_counts(tape: Tape) -> list[tuple[str, int]]:
    """ATen operations by full name (`aten.add.Tensor`), sorted."""
    return sorted(Counter(str(call.func) for call in tape.calls).items())


def flops(tape: Tape) -> tuple[int, int]:
    """(all, of these in matrix products, convolutions and attention)."""
    matrix = other = 0
    for call in tape.calls:
        dense = _dense_flops(tape, call)
        if dense is None:
            other += _plain_flops(tape, call)
        else:
            matrix += dense
    return matrix + other, matrix


def bytes_fused(tape: Tape) -> int:
    taken = _bytes_taken(tape)
    given = {_storage(tape.values[i]): _bytes(tape.values[i]) for i in tape.outputs}
    return sum(taken.values()) + sum(n for key, n in given.items() if key not in taken)


def bytes_unfused(tape: Tape) -> int:
    return sum(_bytes_read(tape, call) + _bytes_written(tape, call) for call in tape.calls)


def working_set(tape: Tape, resident: int = 0) -> int:
    """Peak of live bytes: leaves and `resident` all along, results from birth to last use."""
    last: dict[int, int] = {}
    size: dict[int, int] = {}
    for position, call in enumerate(tape.calls):
        for index in (*call.reads, *call.writes):
            key = _storage(tape.values[index])
            last[key] = position
            size[key] = _storage_bytes(tape.values[index])
    for index in tape.outputs:
        last[_storage(tape.values[index])] = len(tape.calls)
    leaves = {_storage(tape.values[i]): _storage_bytes(tape.values[i]) for i in tape.leaves}
    live = peak = max(sum(leaves.values()), resident)
    born: set[int] = set()
    ends: dict[int, list[int]] = {}
    for key, position in last.items():
        if key not in leaves:
            ends.setdefault(position, []).append(key)
    for position, call in enumerate(tape.calls):
        for index in call.writes:
            key = _storage(tape.values[index])
            if key not in leaves and key not in born:
                born.add(key)
                live += size[key]
        peak = max(peak, live)
        live -= sum(size[key] for key in ends.get(position, ()) if key in born)
    return peak


def _dense_flops(tape: Tape, call: Call) -> int | None:
    formula = flop_registry.get(call.func._overloadpacket)
    if formula is None and call.name not in OUR_OWN:
        return None
    args = filled(call.args, lambda slot: tape.values[slot.index])
    kwargs = filled(call.kwargs, lambda slot: tape.values[slot.index])
    if call.name == "_scaled_dot_product_flash_attention_for_cpu":
        return _attention_flops(args[0], args[2], args[1].shape[-2])
    if call.name == "mkldnn_rnn_layer":
        steps = args[0].shape[0] * args[0].shape[1]
        return int(2 * steps * sum(weight.numel() for weight in args[1:3]))
    results = [tape.values[index] for index in call.writes]
    out = results[0] if len(results) == 1 else tuple(results)
    return int(formula(*args, **kwargs, out_val=out))


def _attention_flops(query: torch.Tensor, value: torch.Tensor, keys: int) -> int:
    scores = query.numel() // query.shape[-1] * keys
    return int(2 * scores * (query.shape[-1] + value.shape[-1]))


def _plain_flops(tape: Tape, call: Call) -> int:
    if not ops.works(call.func):
        return 0
    read = max((int(tape.values[i].numel()) for i in call.reads), default=0)
    written = sum(int(tape.values[i].numel()) for i in call.writes[:1])
    if call.name in NORMS:
        return NORM_FLOPS * read
    if call.name in ops.TRANSCENDENTAL:
        return TRANSCENDENTAL_FLOPS * written
    return max(read, written) if call.name in ops.REDUCTIONS else written


def _bytes_taken(tape: Tape) -> dict[int, int]:
    """Bytes that must be read of each leaf's storage: whole, or the rows that are gathered."""
    taken: dict[int, int] = {}
    for call in tape.calls:
        if ops.is_view(call.func):
            continue
        for index in call.reads:
            leaf = _storage(tape.values[index])
            whole = _bytes(tape.values[index])
            if call.name in GATHERS and index == call.reads[0]:
                whole = min(whole, sum(_bytes(tape.values[i]) for i in call.writes))
            taken[leaf] = max(taken.get(leaf, 0), whole)
    leaves = {_storage(tape.values[index]) for index in tape.leaves}
    return {key: count for key, count in taken.items() if key in leaves}


def _bytes_read(tape: Tape, call: Call) -> int:
    if ops.is_view(call.func):
        return 0
    read = {_storage(tape.values[i]): _bytes(tape.values[i]) for i in call.reads}
    if call.name in GATHERS and call.reads:
        key = _storage(tape.values[call.reads[0]])
        read[key] = min(read[key], _bytes_written(tape, call))
    return sum(read.values())


def _bytes_written(tape: Tape, call: Call) -> int:
    if ops.is_view(call.func):
        return 0
    return sum(_bytes(tape.values[index]) for index in call.writes)


def _bytes(value: torch.Tensor) -> int:
    """Bytes that the tensor's elements occupy: an expanded dimension occupies nothing."""
    elements = 1
    for size, stride in zip(value.shape, value.stride(), strict=True):
        elements *= size if stride != 0 or size == 0 else 1
    return int(elements * value.element_size())


def _storage(value: torch.Tensor) -> int:
    return int(value.untyped_storage()._cdata)


def _storage_bytes(value: torch.Tensor) -> int:
    return int(value.untyped_storage().nbytes())


def tensor_bytes(values: Any) -> int:
    """Bytes of all tensors in a tree, each storage once."""
    return sum({_storage(value): _storage_bytes(value) for value in flat(values)}.values())
