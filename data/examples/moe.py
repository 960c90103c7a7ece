# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GroupLimitedRouter(nn.Module):
    """Choose experts in two steps: the best groups first, then the best experts inside them.

    A bias that balances the load steers the choice but not the weights.

    tokens: (num_tokens, dim) -> weights (num_tokens, top_k), indices (num_tokens, top_k)
    """

    def __init__(self, dim: int = 128, num_experts: int = 16, num_groups: int = 4, top_k: int = 4):
        super().__init__()
        self.num_groups = num_groups
        self.top_k = top_k
        self.centroids = nn.Parameter(torch.randn(num_experts, dim) / math.sqrt(dim))
        self.register_buffer("balance", torch.linspace(-0.02, 0.02, num_experts))

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        affinity = torch.sigmoid(F.linear(tokens, self.centroids))
        choice = (affinity + self.balance).unflatten(-1, (self.num_groups, -1))
        group_rank = choice.topk(2, dim=-1).values.sum(-1)
        best_groups = group_rank.topk(self.num_groups // 2, dim=-1).indices
        open_groups = torch.zeros_like(group_rank).scatter(-1, best_groups, 1.0)
        choice = choice.masked_fill(open_groups.unsqueeze(-1) == 0, -1.0).flatten(-2)
        experts = choice.topk(self.top_k, dim=-1).indices
        picked = affinity.gather(-1, experts)
        return picked / picked.sum(-1, keepdim=True), experts


class DroplessTopKExperts(nn.Module):
    """Token-choice mixture without capacity: tokens are sorted by expert and run in segments.

    x: (batch, seq, dim)
    """

    def __init__(self, dim: int = 64, hidden_dim: int = 128, num_experts: int = 8, top_k: int = 2):
        super().__init__()
        self.num_experts = num_experts
        self.top_k = top_k
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.w_in = nn.Parameter(torch.randn(num_experts, dim, 2 * hidden_dim) * dim**-0.5)
        self.w_out = nn.Parameter(torch.randn(num_experts, hidden_dim, dim) * hidden_dim**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, 1)
        probs, experts = self.router(tokens).softmax(-1).topk(self.top_k, dim=-1)
        probs = probs / probs.sum(-1, keepdim=True)

        order = experts.flatten().argsort(stable=True)
        source = order // self.top_k
        counts = torch.bincount(experts.flatten(), minlength=self.num_experts).tolist()
        segments = tokens[source].split(counts)
        results = []
        for segment, w_in, w_out in zip(segments, self.w_in, self.w_out):
            gate, value = (segment @ w_in).chunk(2, dim=-1)
            results.append((F.silu(gate) * value) @ w_out)
        weighted = torch.cat(results) * probs.flatten()[order].unsqueeze(-1)
        return torch.zeros_like(tokens).index_add(0, source, weighted).view_as(x)


class SoftSlotExperts(nn.Module):
    """Fully differentiable mixture: experts see soft averages of tokens, tokens soft sums of slots.

    x: (B, N, D)
    """

    def __init__(self, dim=96, num_experts=4, slots_per_expert=4, mult=2):
        super().__init__()
        e, s = num_experts, slots_per_expert
        self.slots = nn.Parameter(torch.randn(e, s, dim))
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.w1 = nn.Parameter(torch.randn(e, dim, mult * dim) / dim**0.5)
        self.w2 = nn.Parameter(torch.randn(e, mult * dim, dim) / (mult * dim) ** 0.5)

    def forward(self, x):
        keys = self.scale * F.normalize(self.slots, dim=-1)
        logits = torch.einsum("bnd,esd->bnes", F.normalize(x, dim=-1), keys)
        dispatch = logits.softmax(dim=1)
        combine = logits.flatten(2).softmax(dim=-1).view_as(logits)
        inputs = torch.einsum("bnes,bnd->besd", dispatch, x)
        hidden = F.gelu(torch.einsum("besd,edf->besf", inputs, self.w1))
        return torch.einsum("bnes,besf,efd->bnd", combine, hidden, self.w2)


class ExpertChoiceLayer(nn.Module):
    """Each expert picks its favourite tokens, so that the load is even by construction.

    Args:
        d_model: width of a token.
        n_experts: number of two-layer experts.
        capacity_factor: average number of experts per token.
    """

    def __init__(self, d_model: int = 64, n_experts: int = 4, capacity_factor: float = 1.5):
        super().__init__()
        self.capacity_factor = capacity_factor
        self.gate = nn.Parameter(0.3 * torch.randn(n_experts, d_model))
        self.experts = nn.ModuleList(_expert(d_model, 4 * d_model) for _ in range(n_experts))

    def forward(self, x: Tensor) -> Tensor:
        """x: (num_tokens, d_model)"""
        n = x.shape[0]
        capacity = max(1, math.ceil(n * self.capacity_factor / len(self.experts)))
        scores = F.softmax(x @ self.gate.t(), dim=-1).t()
        weights, chosen = scores.topk(min(capacity, n), dim=-1)
        y = torch.zeros_like(x)
        for expert, w, idx in zip(self.experts, weights, chosen):
            y = y.index_add(0, idx, w[:, None] * expert(x[idx]))
        return x + y


def _expert(width: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.Mish(), nn.Linear(hidden, width, bias=False))
