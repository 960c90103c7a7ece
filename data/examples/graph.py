# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Message passing on graphs given as lists of edges.

Everywhere: N nodes, E edges; edge_index is (2, E) int64, sources then targets, values in [0, N).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def segment_softmax(scores: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """Softmax over the entries that share a segment. scores: (E, H), segment: (E,)."""
    index = segment.unsqueeze(-1).expand_as(scores)
    peak = scores.new_full((num_segments, scores.size(1)), float("-inf"))
    peak = peak.scatter_reduce(0, index, scores, reduce="amax")
    weight = torch.exp(scores - peak.gather(0, index))
    total = torch.zeros_like(peak).scatter_add(0, index, weight)
    return weight / total.gather(0, index)


class EdgeGatedGraphConv(nn.Module):
    """Neighbours are summed through gates made from both ends and the edge; edges are updated too.

    nodes: (N, dim); edges: (E, dim); edge_index: (2, E) int64 in [0, N)
    """

    def __init__(self, dim: int = 64):
        super().__init__()
        self.self_node = nn.Linear(dim, dim)
        self.message = nn.Linear(dim, dim)
        parts = ("source", "target", "edge")
        self.gate_parts = nn.ModuleDict({part: nn.Linear(dim, dim) for part in parts})

    def forward(self, nodes: Tensor, edges: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edge_index
        gate_in = (
            self.gate_parts["source"](nodes)[source]
            + self.gate_parts["target"](nodes)[target]
            + self.gate_parts["edge"](edges)
        )
        gate = torch.sigmoid(gate_in)
        gated_sum = torch.zeros_like(nodes).index_add(0, target, gate * self.message(nodes)[source])
        gate_sum = torch.zeros_like(nodes).index_add(0, target, gate)
        new_nodes = nodes + F.silu(self.self_node(nodes) + gated_sum / (gate_sum + 1e-6))
        return new_nodes, edges + F.silu(gate_in)


class ScatterGraphAttention(nn.Module):
    """Additive attention over incoming edges, heads concatenated.

    x: (num_nodes, in_dim)
    edge_index: (2, num_edges) int64 in [0, num_nodes)
    """

    def __init__(self, in_dim: int = 64, out_dim: int = 64, num_heads: int = 4):
        super().__init__()
        self.num_heads = num_heads
        self.left = nn.Linear(in_dim, out_dim, bias=False)
        self.right = nn.Linear(in_dim, out_dim)
        self.score = nn.Parameter(torch.randn(num_heads, out_dim // num_heads) * 0.3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        src, dst = edge_index[0], edge_index[1]
        left = self.left(x).unflatten(-1, (self.num_heads, -1))
        right = self.right(x).unflatten(-1, (self.num_heads, -1))
        pair = F.leaky_relu(left[src] + right[dst], negative_slope=0.2)
        alpha = segment_softmax((pair * self.score).sum(-1), dst, x.size(0))
        gathered = torch.zeros_like(left).index_add(0, dst, alpha.unsqueeze(-1) * left[src])
        return (gathered + right).flatten(1)


class ChebyshevGraphFilter(nn.Module):
    """Polynomial of a scaled Laplacian, by the three-term recurrence.

    x: (batch, nodes, in_features); laplacian: (nodes, nodes)
    """

    def __init__(self, in_features: int = 32, out_features: int = 48, order: int = 4):
        super().__init__()
        assert order >= 2
        self.theta = nn.Parameter(torch.randn(order, in_features, out_features) * 0.1)

    def forward(self, x: Tensor, laplacian: Tensor) -> Tensor:
        terms = [x, laplacian @ x]
        for _ in range(len(self.theta) - 2):
            terms.append(2 * laplacian @ terms[-1] - terms[-2])
        return torch.einsum("kbni,kio->bno", torch.stack(terms), self.theta)


class ContinuousFilterConv(nn.Module):
    """Filters generated from distances between atoms, smoothly cut off.

    features: (atoms, channels); positions: (atoms, 3)
    """

    def __init__(self, channels: int = 64, *, num_rbf: int = 20, cutoff: float = 5.0):
        super().__init__()
        self.cutoff = cutoff
        self.register_buffer("centres", torch.linspace(0.0, cutoff, num_rbf))
        self.filter_net = nn.Sequential(
            nn.Linear(num_rbf, channels), nn.Softplus(), nn.Linear(channels, channels)
        )

    def forward(self, features: Tensor, positions: Tensor) -> Tensor:
        gap = positions[:, None] - positions[None, :]
        distance = (gap.square().sum(-1) + 1e-8).sqrt()
        rbf = torch.exp(-((distance.unsqueeze(-1) - self.centres) * 2.0).square())
        taper = 0.5 * (torch.cos(torch.pi * distance / self.cutoff) + 1.0)
        taper = taper.masked_fill(distance > self.cutoff, 0.0)
        filters = self.filter_net(rbf) * taper.unsqueeze(-1)
        return torch.einsum("ijc,jc->ic", filters, features)
