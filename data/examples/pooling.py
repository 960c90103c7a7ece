# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Many vectors in, one vector out."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GeneralisedMeanPool(nn.Module):
    """Power mean over space with a learnt exponent, then unit length. x: (B, C, H, W)."""

    def __init__(self, p: float = 3.0, eps: float = 1e-4):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(p))
        self.eps = eps

    def forward(self, x):
        pooled = F.softplus(x).add(self.eps).pow(self.p).mean(dim=(-2, -1)).pow(1.0 / self.p)
        return F.normalize(pooled, dim=1)


class AttentiveStatisticsPool(nn.Module):
    """Weighted mean and deviation over time, weights per channel from a small network.

    x: (batch, channels, frames); lengths: (batch,) int64 in [1, frames]
    """

    def __init__(self, channels: int = 128, attention_channels: int = 32):
        super().__init__()
        self.attention = nn.Sequential(
            nn.Conv1d(channels, attention_channels, 1),
            nn.Tanh(),
            nn.Conv1d(attention_channels, channels, 1, bias=False),
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        frame = torch.arange(x.size(-1), device=x.device)
        padding = frame >= lengths.clamp(min=1)[:, None]
        scores = self.attention(x).masked_fill(padding.unsqueeze(1), float("-inf"))
        weight = scores.softmax(dim=-1)
        mean = (weight * x).sum(dim=-1)
        spread = (weight * (x - mean.unsqueeze(-1)).square()).sum(dim=-1)
        return torch.cat([mean, (spread + 1e-5).sqrt()], dim=1)


class SoftMaximumPool2d(nn.Module):
    """Down-sample by averaging each window with weights exp(beta * x)."""

    def __init__(self, kernel_size: int = 2, beta: float = 1.5):
        super().__init__()
        self.kernel_size = kernel_size
        self.beta = beta

    def forward(self, x: Tensor) -> Tensor:
        # x: (N, C, H, W)
        weight = torch.exp(self.beta * x)
        total = F.avg_pool2d(weight, self.kernel_size)
        return F.avg_pool2d(weight * x, self.kernel_size) / total


class CovariancePool(nn.Module):
    """Second-order pooling: signed square root of the channel covariance, upper triangle.

    features: (B, C, H, W) -> (B, C * (C + 1) / 2)
    """

    def __init__(self, channels: int = 32, reduced: int = 16):
        super().__init__()
        self.reduce = nn.Conv2d(channels, reduced, 1, bias=False)
        row, column = torch.triu_indices(reduced, reduced)
        self.register_buffer("flat_index", row * reduced + column)

    def forward(self, features: Tensor) -> Tensor:
        z = self.reduce(features).flatten(2)
        z = z - z.mean(dim=2, keepdim=True)
        covariance = z @ z.transpose(1, 2) / (z.size(2) - 1)
        upper = covariance.flatten(1)[:, self.flat_index]
        return torch.sign(upper) * torch.sqrt(upper.abs() + 1e-7)


class SegmentMeanMax(nn.Module):
    """Mean and maximum of the rows of each segment, for ragged batches.

    rows: (num_rows, dim); segment: (num_rows,) int64 in [0, num_segments)
    """

    def __init__(self, num_segments: int = 8):
        super().__init__()
        self.num_segments = num_segments

    def forward(self, rows: Tensor, segment: Tensor) -> Tensor:
        out = rows.new_zeros(self.num_segments, rows.size(1))
        index = segment.unsqueeze(1).expand_as(rows)
        mean = out.scatter_reduce(0, index, rows, reduce="mean", include_self=False)
        peak = out.scatter_reduce(0, index, rows, reduce="amax", include_self=False)
        return torch.cat([mean, peak], dim=1)
