# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of recommenders: sparse identifiers in, interactions out."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class PairwiseFeatureInteraction(nn.Module):
    """Inner products of all pairs of feature embeddings, next to the dense features.

    dense: (batch, dim); sparse: (batch, num_features, dim)
    """

    def __init__(self, num_features: int = 12):
        super().__init__()
        n = num_features + 1
        rows, columns = torch.tril_indices(n, n, offset=-1)
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        stacked = torch.cat([dense.unsqueeze(1), sparse], dim=1)
        gram = torch.bmm(stacked, stacked.transpose(1, 2))
        return torch.cat([dense, gram[:, self.rows, self.columns]], dim=1)


class LowRankCrossNetwork(nn.Module):
    """Explicit feature crosses of growing degree, through low-rank maps.

    x: (batch, features)
    """

    def __init__(self, features: int = 160, rank: int = 24, layers: int = 3):
        super().__init__()
        self.down = nn.ModuleList(nn.Linear(features, rank, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(rank, features) for _ in range(layers))

    def forward(self, x):
        crossed = x
        for down, up in zip(self.down, self.up):
            crossed = x * up(torch.tanh(down(crossed))) + crossed
        return crossed


class HashedHistoryEmbedding(nn.Module):
    """Item ids of any size, hashed twice into a small table; the two rows are mixed and averaged.

    item_ids: (batch, history) int64; lengths: (batch,) int64 in [1, history]
    """

    def __init__(self, num_buckets: int = 1000, embedding_dim: int = 32):
        super().__init__()
        self.num_buckets = num_buckets
        self.table = nn.Embedding(num_buckets, embedding_dim)
        self.importance = nn.Parameter(torch.tensor([0.6, 0.4]))

    def forward(self, item_ids: Tensor, lengths: Tensor) -> Tensor:
        first = (item_ids * 2654435761 + 17) % self.num_buckets
        second = (item_ids * 40503 + 101) % self.num_buckets
        rows = self.table(torch.stack([first, second], dim=-1))
        mixed = torch.einsum("bhkd,k->bhd", rows, self.importance)
        position = torch.arange(item_ids.size(1), device=item_ids.device)
        real = (position < lengths.unsqueeze(1)).unsqueeze(-1)
        return (mixed * real).sum(dim=1) / lengths.clamp(min=1).unsqueeze(-1)


class CandidateAwareHistory(nn.Module):
    """Weigh past items by their relation to the candidate, without a softmax.

    candidate: (batch, dim); history: (batch, items, dim); valid: (batch, items) bool
    """

    def __init__(self, dim: int = 48, hidden: Sequence[int] = (64, 16)):
        super().__init__()
        widths = [4 * dim, *hidden]
        steps: list[nn.Module] = []
        for a, b in zip(widths[:-1], widths[1:]):
            steps += [nn.Linear(a, b), nn.PReLU(b)]
        self.score = nn.Sequential(*steps, nn.Linear(widths[-1], 1))

    def forward(self, candidate: Tensor, history: Tensor, valid: Tensor) -> Tensor:
        q = candidate.unsqueeze(1).expand_as(history)
        pairs = torch.cat((q, history, q - history, q * history), dim=-1)
        scores = self.score(pairs.flatten(0, 1)).view(history.shape[:2])
        return torch.einsum("bi,bid->bd", scores.masked_fill(~valid, 0.0), history)


class FieldFactorisation(nn.Module):
    """First-order weights plus factorised second-order terms of sparse fields.

    fields: (batch, num_fields) int64, each in [0, cardinality)
    """

    def __init__(self, num_fields: int = 10, cardinality: int = 500, rank: int = 16):
        super().__init__()
        self.linear = nn.Embedding(num_fields * cardinality, 1)
        self.factors = nn.Embedding(num_fields * cardinality, rank)
        self.register_buffer("offsets", torch.arange(num_fields) * cardinality)

    def forward(self, fields: Tensor) -> Tensor:
        index = fields + self.offsets
        v = self.factors(index)
        pairs = 0.5 * (v.sum(dim=1).square() - v.square().sum(dim=1)).sum(dim=-1)
        return self.linear(index).sum(dim=(1, 2)) + pairs
