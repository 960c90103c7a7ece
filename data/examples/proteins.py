# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of networks for proteins: pairs of residues and alignments of sequences."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TriangleMultiplication(nn.Module):
    """Update each pair (i, j) through all third residues k; outgoing or incoming edges.

    pair: (B, N, N, pair_dim)
    """

    def __init__(self, pair_dim: int = 64, hidden_dim: int = 32, *, outgoing: bool = True):
        super().__init__()
        self.equation = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
        self.norm_in = nn.LayerNorm(pair_dim)
        self.edges = nn.Linear(pair_dim, 2 * hidden_dim)
        self.edge_gates = nn.Linear(pair_dim, 2 * hidden_dim)
        self.norm_out = nn.LayerNorm(hidden_dim)
        self.out = nn.Linear(hidden_dim, pair_dim)
        self.out_gate = nn.Linear(pair_dim, pair_dim)

    def forward(self, pair: Tensor) -> Tensor:
        z = self.norm_in(pair)
        a, b = (torch.sigmoid(self.edge_gates(z)) * self.edges(z)).chunk(2, dim=-1)
        triangles = torch.einsum(self.equation, a, b)
        return torch.sigmoid(self.out_gate(z)) * self.out(self.norm_out(triangles))


class OuterProductMean(nn.Module):
    """Co-variation of two alignment columns: mean over sequences of outer products.

    alignment: (B, S, N, dim); present: (B, S, N) boolean
    """

    def __init__(self, dim: int = 32, hidden: int = 8, pair_dim: int = 48):
        super().__init__()
        self.left = nn.Linear(dim, hidden)
        self.right = nn.Linear(dim, hidden)
        self.out = nn.Linear(hidden * hidden, pair_dim)

    def forward(self, alignment: Tensor, present: Tensor) -> Tensor:
        m = present.unsqueeze(-1).to(alignment.dtype)
        a, b = self.left(alignment) * m, self.right(alignment) * m
        outer = torch.einsum("bsic,bsjd->bijcd", a, b).flatten(-2)
        count = torch.einsum("bsiq,bsjq->bijq", m, m)
        return self.out(outer / (count + 1e-3))


class PairBiasedRowAttention(nn.Module):
    """Attention within each row of an alignment, biased by the pair representation, gated.

    rows: (B, S, N, dim); pair: (B, N, N, pair_dim)
    """

    def __init__(self, dim: int = 64, pair_dim: int = 32, num_heads: int = 4):
        super().__init__()
        self.num_heads = num_heads
        self.to_qkvg = nn.Linear(dim, 4 * dim, bias=False)
        self.to_bias = nn.Sequential(
            nn.LayerNorm(pair_dim, bias=False), nn.Linear(pair_dim, num_heads, bias=False)
        )
        self.to_out = nn.Linear(dim, dim)

    def forward(self, rows: Tensor, pair: Tensor) -> Tensor:
        split = self.to_qkvg(rows).unflatten(-1, (4, self.num_heads, -1))
        q, k, v, g = split.permute(3, 0, 1, 4, 2, 5)
        bias = self.to_bias(pair).permute(0, 3, 1, 2).unsqueeze(1)
        logits = torch.einsum("bshic,bshjc->bshij", q, k) * q.size(-1) ** -0.5 + bias
        y = torch.einsum("bshij,bshjc->bshic", logits.softmax(-1), v) * g.sigmoid()
        return self.to_out(y.transpose(2, 3).flatten(3))


class BackboneDistogram(nn.Module):
    """Soft histogram of distances between residues, symmetrised with learnt logits.

    coordinates: (B, N, 3); pair: (B, N, N, pair_dim) -> (B, N, N, bins)
    """

    def __init__(self, pair_dim: int = 32, bins: int = 24, reach: float = 6.0):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.5, reach, bins))
        self.logits = nn.Linear(pair_dim, bins)
        self.sharpness = bins / reach

    def forward(self, coordinates: Tensor, pair: Tensor) -> Tensor:
        distance = torch.cdist(coordinates, coordinates).unsqueeze(-1)
        evidence = -(self.sharpness * (distance - self.centres)).square()
        learnt = self.logits(pair + pair.transpose(1, 2))
        return F.softmax(learnt + 0.1 * evidence, dim=-1)
