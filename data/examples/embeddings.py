# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Discrete or scalar things become vectors."""

import math
from typing import Optional

import torch
from torch import Tensor, nn


class FactorisedTokenEmbedding(nn.Module):
    """A narrow embedding table and a projection, with learnt positions and segments.

    token_ids: (batch, seq) int64 in [0, vocab_size)
    segment_ids: (batch, seq) int64 in [0, 2), optional
    """

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 128,
        embedding_size: int = 32,
        max_positions: int = 128,
    ):
        super().__init__()
        self.words = nn.Embedding(vocab_size, embedding_size)
        self.positions = nn.Embedding(max_positions, embedding_size)
        self.segments = nn.Embedding(2, embedding_size)
        self.norm = nn.LayerNorm(embedding_size)
        self.project = nn.Linear(embedding_size, hidden_size)

    def forward(self, token_ids: Tensor, segment_ids: Optional[Tensor] = None) -> Tensor:
        seq = token_ids.size(1)
        if segment_ids is None:
            segment_ids = torch.zeros_like(token_ids)
        position_ids = torch.arange(seq, device=token_ids.device)
        total = self.words(token_ids) + self.positions(position_ids) + self.segments(segment_ids)
        return self.project(self.norm(total))


class BucketedDistanceBias(nn.Module):
    """Attention scores plus a bias per head that depends on the logarithm of the distance.

    scores: (batch, num_heads, queries, keys)
    """

    def __init__(self, num_heads: int = 8, num_buckets: int = 32, max_distance: int = 128):
        super().__init__()
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bias = nn.Embedding(num_buckets, num_heads)

    def bucket(self, offset: Tensor) -> Tensor:
        half = self.num_buckets // 2
        exact = half // 2
        distance = offset.abs()
        ratio = torch.log(distance.clamp(min=1) / exact) / math.log(self.max_distance / exact)
        far = (exact + ratio * (half - exact)).long().clamp(max=half - 1)
        return torch.where(distance < exact, distance, far) + half * (offset > 0)

    def forward(self, scores: Tensor) -> Tensor:
        query = torch.arange(scores.size(-2), device=scores.device)
        key = torch.arange(scores.size(-1), device=scores.device)
        return scores + self.bias(self.bucket(key[None, :] - query[:, None])).permute(2, 0, 1)


class TimestepEmbedding(nn.Module):
    """Sinusoids of a diffusion time, then a two-layer network. t: (batch,) floats."""

    def __init__(self, dim: int = 128, max_period: float = 10000.0):
        super().__init__()
        half = dim // 2
        self.register_buffer("freqs", torch.exp(-math.log(max_period) * torch.arange(half) / half))
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, t: Tensor) -> Tensor:
        args = 1000.0 * t[:, None] * self.freqs
        return self.mlp(torch.cat([args.cos(), args.sin()], dim=-1))


class MultiCodebookEmbedding(nn.Module):
    """Sum of one embedding per codebook, as for tokens of a neural audio codec.

    codes: (batch, num_codebooks, frames) int64 in [0, codebook_size)
    """

    def __init__(self, num_codebooks: int = 4, codebook_size: int = 256, dim: int = 96):
        super().__init__()
        self.tables = nn.Parameter(torch.randn(num_codebooks * codebook_size, dim) * 0.1)
        shift = torch.arange(num_codebooks) * codebook_size
        self.register_buffer("shift", shift.view(1, -1, 1))

    def forward(self, codes: Tensor) -> Tensor:
        return nn.functional.embedding(codes + self.shift, self.tables).sum(dim=1)


class MultiResolutionHashGrid(nn.Module):
    """Features of points from hashed grids of growing resolution, bilinear in each cell.

    points: (n, 2), in [0, 1] -> (n, levels * features)
    """

    CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))

    def __init__(self, levels: int = 6, features: int = 4, table_size: int = 1024):
        super().__init__()
        self.table_size = table_size
        self.tables = nn.Parameter(torch.randn(levels, table_size, features) * 0.1)
        self.resolutions = [int(4 * 1.6**level) for level in range(levels)]

    def forward(self, points: Tensor) -> Tensor:
        encoded = []
        for table, resolution in zip(self.tables, self.resolutions):
            scaled = points * resolution
            cell = scaled.floor()
            inside = scaled - cell
            value = 0.0
            for corner in self.CORNERS:
                step = torch.tensor(corner, device=points.device)
                x, y = (cell.long() + step).unbind(-1)
                row = (x ^ (y * 2654435761)) % self.table_size
                weight = (1 - step - inside).abs().prod(dim=-1, keepdim=True)
                value = value + weight * table[row]
            encoded.append(value)
        return torch.cat(encoded, dim=-1)
