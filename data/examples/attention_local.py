# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Attention that looks only at the neighbourhood."""

import torch
import torch.nn.functional as F
from torch import nn


class HeadsMixin:
    """Split channels into heads and join them again."""

    num_heads: int

    def split_heads(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        return x.view(b, n, self.num_heads, d // self.num_heads).transpose(1, 2)

    def join_heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2).flatten(2)


class SlidingWindowSelfAttention(HeadsMixin, nn.Module):
    """Causal attention over the last `window` tokens, with a learnt bias per distance.

    Keys are unfolded into bands, so the cost is linear in the length of the sequence.

    x: (batch, seq, dim) -> (batch, seq, dim)
    """

    def __init__(self, dim: int = 128, num_heads: int = 4, window: int = 16):
        super().__init__()
        self.num_heads = num_heads
        self.window = window
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.distance_bias = nn.Parameter(torch.linspace(-1.0, 0.0, window).repeat(num_heads, 1))

    def _band(self, x: torch.Tensor) -> torch.Tensor:
        """(b, h, n, e) -> (b, h, n, e, window): each position's own past, oldest first."""
        return F.pad(x, (0, 0, self.window - 1, 0)).unfold(2, self.window, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[1]
        q, k, v = (self.split_heads(t) for t in self.qkv(x).chunk(3, dim=-1))
        scores = torch.einsum("bhne,bhnew->bhnw", q * self.scale, self._band(k))
        scores = scores + self.distance_bias[None, :, None, :]
        age = torch.arange(self.window - 1, -1, -1, device=x.device)
        missing = age[None, :] > torch.arange(n, device=x.device)[:, None]
        weights = scores.masked_fill(missing, float("-inf")).softmax(dim=-1)
        mixed = torch.einsum("bhnw,bhnew->bhne", weights, self._band(v))
        return self.out(self.join_heads(mixed))


class BlockPairAttention(HeadsMixin, nn.Module):
    """Tokens of a block see their own block and the one before it, no others.

    Args:
        dim: embedding size.
        num_heads: number of heads; divides dim.
        block: tokens in a block; divides the length of the sequence.

    Shape: tokens: (batch, seq, dim), seq a multiple of block
    """

    def __init__(self, dim=96, num_heads=3, block=8):
        super().__init__()
        self.num_heads = num_heads
        self.block = block
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def _with_previous(self, x):
        blocks = x.unflatten(2, (-1, self.block))
        previous = torch.cat([blocks[:, :, -1:], blocks[:, :, :-1]], dim=2)
        return torch.cat([previous, blocks], dim=3)

    def forward(self, tokens):
        assert tokens.size(1) % self.block == 0, "seq must be a multiple of block"
        q = self.split_heads(self.to_q(tokens)).unflatten(2, (-1, self.block))
        k, v = self.to_kv(tokens).chunk(2, dim=-1)
        k = self._with_previous(self.split_heads(k))
        v = self._with_previous(self.split_heads(v))
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.proj(self.join_heads(mixed.flatten(2, 3)))


class NeighbourhoodAttention2d(nn.Module):
    """Every pixel attends to the k x k pixels around it; borders see zero padding as absent.

    feature_map: (B, C, H, W) -> (B, C, H, W)
    """

    def __init__(self, channels: int = 64, kernel_size: int = 5, heads: int = 2):
        super().__init__()
        self.k = kernel_size
        self.heads = heads
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1, bias=False)
        self.relative = nn.Parameter(0.1 * torch.randn(heads, kernel_size**2))

    def forward(self, feature_map: torch.Tensor) -> torch.Tensor:
        b, c, h, w = feature_map.shape
        q, k, v = self.to_qkv(feature_map).chunk(3, dim=1)
        q = q.reshape(b, self.heads, -1, 1, h * w)
        k, v = (
            F.unfold(t, self.k, padding=self.k // 2).view(b, self.heads, -1, self.k**2, h * w)
            for t in (k, v)
        )
        inside = F.unfold(feature_map.new_ones(1, 1, h, w), self.k, padding=self.k // 2)
        scores = (q * k).sum(2) * (c // self.heads) ** -0.5 + self.relative[None, :, :, None]
        weights = scores.masked_fill(inside[:, None] == 0, float("-inf")).softmax(dim=2)
        return (weights.unsqueeze(2) * v).sum(3).reshape(b, c, h, w)
