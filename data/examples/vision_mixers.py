# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers of image features that are neither plain convolution nor plain attention."""

import torch
import torch.nn.functional as F
from torch import nn


class PermuteAxesMixer(nn.Module):
    """Three linear mixes, along height, width and channels, weighted per image by their content.

    x: (B, H, W, C) with fixed H and W
    """

    def __init__(self, height: int = 14, width: int = 14, channels: int = 96, segments: int = 8):
        super().__init__()
        self.segments = segments
        depth = channels // segments
        self.mix_h = nn.Linear(height * depth, height * depth, bias=False)
        self.mix_w = nn.Linear(width * depth, width * depth, bias=False)
        self.mix_c = nn.Linear(channels, channels, bias=False)
        self.reweight = nn.Linear(channels, 3 * channels)

    def _along(self, x: torch.Tensor, linear: nn.Linear) -> torch.Tensor:
        """Mix dimension 2 of (B, A, L, C) together with the channels of a segment."""
        b, a, length, c = x.shape
        rows = x.view(b, a, length, self.segments, -1).transpose(2, 3).flatten(3)
        mixed = linear(rows).view(b, a, self.segments, length, -1)
        return mixed.transpose(2, 3).reshape(b, a, length, c)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        by_h = self._along(x.transpose(1, 2).contiguous(), self.mix_h).transpose(1, 2)
        branches = torch.stack([by_h, self._along(x, self.mix_w), self.mix_c(x)], dim=-1)
        context = branches.sum(-1).mean(dim=(1, 2))
        share = self.reweight(context).unflatten(-1, (-1, 3)).softmax(dim=-1)
        return torch.einsum("bhwck,bck->bhwc", branches, share)


class FocalContextModulation(nn.Module):
    """Query times a context gathered at growing distances, one gate per distance.

    feature: (B, C, H, W)
    """

    def __init__(self, dim: int = 64, levels: int = 3, first_window: int = 3):
        super().__init__()
        self.dim, self.levels = dim, levels
        self.entry = nn.Conv2d(dim, 2 * dim + levels + 1, 1)
        self.context = nn.ModuleList(
            nn.Conv2d(dim, dim, k, padding=k // 2, groups=dim, bias=False)
            for k in range(first_window, first_window + 2 * levels, 2)
        )
        self.modulator = nn.Conv2d(dim, dim, 1)
        self.exit = nn.Conv2d(dim, dim, 1)

    def forward(self, feature: torch.Tensor) -> torch.Tensor:
        query, ctx, gates = self.entry(feature).split([self.dim, self.dim, self.levels + 1], dim=1)
        gathered = 0
        for level, conv in enumerate(self.context):
            ctx = F.gelu(conv(ctx))
            gathered = gathered + ctx * gates[:, level : level + 1]
        everywhere = F.gelu(ctx.mean(dim=(2, 3), keepdim=True))
        gathered = gathered + everywhere * gates[:, self.levels :]
        return self.exit(query * self.modulator(gathered))


class FiveWayShift(nn.Module):
    """Channels are split in five; four parts move one pixel each, then a linear layer mixes.

    x: (B, H, W, C)
    """

    def __init__(self, channels: int = 80):
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.mix = nn.Linear(channels, channels)

    def forward(self, x):
        n = self.norm(x)
        parts = list(torch.tensor_split(n, 5, dim=-1))
        moves = ((1, 1), (-1, 1), (1, 2), (-1, 2))
        for i, (step, axis) in enumerate(moves):
            parts[i] = parts[i].roll(step, dims=axis)
        return x + self.mix(torch.cat(parts, dim=-1))


class SpectralFilter2d(nn.Module):
    """A learnt complex gain for every frequency and channel of a feature map of fixed size.

    Shape: x: (batch, channels, size, size)
    """

    def __init__(self, channels: int = 48, size: int = 16):
        super().__init__()
        gain = torch.randn(channels, size, size // 2 + 1, 2) * 0.3
        gain[..., 0] += 1.0
        self.gain = nn.Parameter(gain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft2(x, norm="ortho") * torch.view_as_complex(self.gain)
        return torch.fft.irfft2(spectrum, s=x.shape[-2:], norm="ortho")


class CoordinateGate(nn.Module):
    """Pool along each axis, share one bottleneck, gate rows and columns separately.

    x: (B, C, H, W)
    """

    def __init__(self, in_channels: int = 64, reduction: int = 8):
        super().__init__()
        mid = max(8, in_channels // reduction)
        self.squeeze = nn.Sequential(nn.Conv1d(in_channels, mid, 1), nn.Hardswish())
        self.gate_h = nn.Conv1d(mid, in_channels, 1)
        self.gate_w = nn.Conv1d(mid, in_channels, 1)

    def forward(self, x):
        _, _, h, w = x.size()
        profile = torch.cat([x.mean(dim=3), x.amax(dim=2)], dim=2)
        rows, columns = self.squeeze(profile).split([h, w], dim=2)
        a_h = self.gate_h(rows).sigmoid().unsqueeze(3)
        a_w = self.gate_w(columns).sigmoid().unsqueeze(2)
        return x * a_h * a_w
