"""The least work of one forward: operations and bytes, counted where they happen.

    flops_matmul   products (matmul, convolution, attention) by torch's own formulas
    flops_other    one per element for everything else; a lower bound, since exp costs more than one
    bytes_min      every input, parameter and buffer that is read, once, and every output, once;
                   lookups (embedding, gather, indexing) count what they take, not the table

No implementation of the formula as written needs less, so the roofline made from it is a floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from .program import tensors

_LOOKUPS = ("embedding", "gather", "index_select", "index", "take", "_embedding_bag")
_FREE = ("detach", "empty", "empty_like", "empty_strided", "new_empty")


@dataclass
class Work:
    """Counts of one forward."""

    flops_matmul: int = 0
    flops_other: int = 0
    bytes_min: int = 0
    kernels: int = 0  # ATen calls that launch something
    ops: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def count(model: torch.nn.Module, inputs: Sequence[Any]) -> tuple[Work, Any]:
    """The work of `model(*inputs)`, and its output."""
    given = [*tensors(list(inputs)), *model.parameters(), *model.buffers()]
    counter = _Counter(given)
    with counter:
        output = model(*inputs)
    written = {_storage(tensor): _bytes(tensor) for tensor in tensors(output)}
    counter.work.bytes_min += sum(
        size for storage, size in written.items() if storage not in counter.given
    )
    counter.work.bytes_min += sum(counter.read.values())
    return counter.work, output


class _Counter(TorchDispatchMode):
    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.given = {_storage(tensor): _bytes(tensor) for tensor in given}
        self.read: dict[int, int] = {}
        self.work = Work()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._overloadpacket.__name__
        results = tensors(out)
        operands = tensors((args, kwargs or {}))
        if func.is_view or name in _FREE or not results:
            return out
        self._read(name, operands, results)
        self._count(func._overloadpacket, name, args, kwargs or {}, out, operands, results)
        return out

    def _read(self, name: str, operands: list[Any], results: list[Any]) -> None:
        taken = sum(_bytes(tensor) for tensor in results)
        for position, tensor in enumerate(operands):
            storage = _storage(tensor)
            if storage not in self.given:
                continue
            size = min(_bytes(tensor), self.given[storage])
            if name in _LOOKUPS and position == 0:
                size = min(size, taken)
            self.read[storage] = min(self.given[storage], max(self.read.get(storage, 0), size))

    def _count(
        self,
        packet: Any,
        name: str,
        args: Any,
        kwargs: dict[str, Any],
        out: Any,
        operands: list[Any],
        results: list[Any],
    ) -> None:
        work = self.work
        work.kernels += 1
        work.ops[name] = work.ops.get(name, 0) + 1
        if packet in flop_registry:
            work.flops_matmul += int(flop_registry[packet](*args, **kwargs, out_val=out))
        elif name == "_scaled_dot_product_flash_attention_for_cpu":
            work.flops_matmul += _attention_flops(*operands[:3])
        elif name in ("_cudnn_rnn", "mkldnn_rnn_layer"):
            steps = operands[0].numel() // operands[0].shape[-1]
            work.flops_matmul += 2 * steps * sum(w.numel() for w in operands[1:] if w.dim() == 2)
        else:
            sizes = [tensor.numel() for tensor in [*results, *operands]]
            touched = max(sizes[: len(results)]) if name in _LOOKUPS else max(sizes)
            work.flops_other += touched


def _attention_flops(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> int:
    *_, queries, width = query.shape
    keys, out_width = value.shape[-2:]
    heads = query.numel() // (queries * width)
    return 2 * heads * queries * keys * (width + out_width)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _bytes(tensor: torch.Tensor) -> int:
    """Bytes of the distinct elements: an expanded tensor holds no more than its storage."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())
