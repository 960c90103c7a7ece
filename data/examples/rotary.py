# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations of queries and keys by position."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Turn the pairs (first half, second half) of the last dimension by `angle`."""
    cos, sin = angle.cos(), angle.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class RotaryBase(nn.Module):
    """Holds the frequencies that its subclasses turn into angles."""

    def __init__(self, rotary_dim: int, base: float = 10000.0):
        super().__init__()
        exponent = torch.arange(0, rotary_dim, 2).float() / rotary_dim
        self.register_buffer("inv_freq", base**-exponent, persistent=False)


class PartialRotary(RotaryBase):
    """Rotate the first part of each head by given positions; the rest passes through.

    q, k: (batch, heads, seq, head_dim); positions: (batch, seq) int64
    """

    def __init__(self, head_dim: int = 64, fraction: float = 0.5):
        self.rotary_dim = int(head_dim * fraction)
        super().__init__(self.rotary_dim)

    def forward(self, q, k, positions):
        angle = (positions.unsqueeze(-1) * self.inv_freq).unsqueeze(1)
        return self._apply_to(q, angle), self._apply_to(k, angle)

    def _apply_to(self, x, angle):
        turned, kept = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        return torch.cat([rotate(turned, angle), kept], dim=-1)


class AxialRotary2d(RotaryBase):
    """Half of the channels turns with the row, the other half with the column.

    x: (B, heads, H, W, head_dim)
    """

    def __init__(self, head_dim: int = 32, base: float = 100.0):
        super().__init__(head_dim // 2, base)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, w = x.shape[2:4]
        rows = torch.arange(1, h + 1, device=x.device).view(h, 1, 1) * self.inv_freq
        columns = torch.arange(1, w + 1, device=x.device).view(1, w, 1) * self.inv_freq
        by_row, by_column = x.chunk(2, dim=-1)
        return torch.cat([rotate(by_row, rows), rotate(by_column, columns)], dim=-1)


class RotaryNormedScores(RotaryBase):
    """Queries and keys are RMS-normalised per head, rotated, and multiplied into masked scores.

    q, k: (batch, heads, seq, head_dim) -> (batch, heads, seq, seq)
    """

    def __init__(self, heads: int = 4, head_dim: int = 32, soft_cap: float = 20.0):
        super().__init__(head_dim)
        self.soft_cap = soft_cap
        self.q_gain = nn.Parameter(torch.linspace(0.8, 1.2, heads).view(heads, 1, 1))
        self.k_gain = nn.Parameter(torch.ones(head_dim))

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        n = q.shape[-2]
        angle = torch.arange(n, device=q.device).unsqueeze(-1) * self.inv_freq
        q = rotate(F.rms_norm(q, q.shape[-1:]) * self.q_gain, angle)
        k = rotate(F.rms_norm(k, k.shape[-1:], self.k_gain), angle)
        scores = q @ k.mT / q.size(-1) ** 0.5
        capped = self.soft_cap * torch.tanh(scores / self.soft_cap)
        return capped.tril()
