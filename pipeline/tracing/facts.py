"""All that later stages want to know of one forward, as plain values."""

from typing import Any

import torch

from pipeline.tracing import cost, graph, ops
from pipeline.tracing.rules import GRAPH_RULES
from pipeline.tracing.tape import Tape

Facts = dict[str, Any]


def facts_of(tape: Tape, model: torch.nn.Module, inputs: list[Any]) -> Facts:
    """Operations, fingerprint, FLOPs, bytes, memory, outputs and types of a recorded forward."""
    everything, matrix = cost.flops(tape)
    state = [*model.parameters(), *model.buffers()]
    return {
        "ops": cost.op_counts(tape),
        "working_ops": sum(ops.works(call.func) for call in tape.calls),
        "random_ops": sorted({call.name for call in tape.calls} & ops.RANDOM),
        "depends_on_data": depends_on_data(tape),
        "graph_sha256": graph.fingerprint(tape),
        "graph_rules": GRAPH_RULES,
        "parameters": sum(p.numel() for p in model.parameters()),
        "flops": everything,
        "flops_matrix": matrix,
        "bytes_fused": cost.bytes_fused(tape),
        "bytes_unfused": cost.bytes_unfused(tape),
        "working_set": cost.working_set(tape, cost.tensor_bytes([state, inputs])),
        "inputs": [_spec(v) for v in inputs if isinstance(v, torch.Tensor)],
        "outputs": [_spec(tape.values[index]) for index in tape.outputs],
        "dtypes": sorted({str(v.dtype).removeprefix("torch.") for v in tape.values}),
    }


def depends_on_data(tape: Tape) -> list[str]:
    """Operations after which control flow or shapes may depend on a tensor's content."""
    return sorted({call.name for call in tape.calls} & (ops.READS_TO_PYTHON | ops.DATA_SHAPED))


def _spec(value: torch.Tensor) -> dict[str, Any]:
    return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
