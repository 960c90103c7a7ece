# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Normalisations beyond the stock ones."""

import torch
import torch.nn as nn
import torch.nn.functional as F

EPS = 1e-6


class GatedGroupRMSNorm(nn.Module):
    """RMS normalisation in groups of channels after a SiLU gate.

    Shape: x and z: (batch, seq, dim)
    """

    def __init__(self, dim: int = 512, num_groups: int = 8, eps: float = EPS):
        super().__init__()
        if dim % num_groups:
            raise ValueError(f"dim {dim} does not divide into {num_groups} groups")
        self.num_groups = num_groups
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        gated = x * F.silu(z)
        groups = gated.unflatten(-1, (self.num_groups, -1))
        scale = torch.rsqrt(groups.pow(2).mean(-1, keepdim=True) + self.eps)
        return (groups * scale).flatten(-2) * self.weight


class GlobalResponseContrast(nn.Module):
    """Channels compete: each is scaled by its energy relative to the average channel.

    x: (B, H, W, C), channels last
    """

    def __init__(self, channels: int = 96):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((channels,), 0.7))
        self.beta = nn.Parameter(torch.linspace(-0.1, 0.1, channels))

    def forward(self, x):
        energy = x.square().sum(dim=(1, 2), keepdim=True).sqrt()
        contrast = energy / (energy.mean(dim=-1, keepdim=True) + EPS)
        return x + self.gamma * (x * contrast) + self.beta


class FilterResponseNorm(nn.Module):
    """Normalise each filter's response by its own mean square; threshold learnt per channel."""

    def __init__(self, num_features: int, eps: float = 1e-6):
        super().__init__()
        shape = (1, num_features, 1, 1)
        self.gamma = nn.Parameter(torch.ones(shape))
        self.beta = nn.Parameter(torch.zeros(shape))
        self.tau = nn.Parameter(torch.full(shape, -0.5))
        self.eps = eps

    def forward(self, x):
        # x: (N, num_features, H, W)
        nu2 = torch.mean(x * x, dim=[2, 3], keepdim=True)
        x = x * torch.rsqrt(nu2 + self.eps)
        return torch.maximum(self.gamma * x + self.beta, self.tau)


class AdaptiveInstanceNorm(nn.Module):
    """Give the content features the mean and deviation of the style features, per channel.

    content: (B, C, H, W)
    style: (B, C, h, w), any size
    """

    def __init__(self, strength: float = 0.8, eps: float = 1e-5):
        super().__init__()
        self.strength = strength
        self.eps = eps

    def _moments(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        var, mean = torch.var_mean(x, dim=(2, 3), keepdim=True)
        return mean, torch.sqrt(var + self.eps)

    def forward(self, content: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        c_mean, c_std = self._moments(content)
        s_mean, s_std = self._moments(style)
        stylised = (content - c_mean) / c_std * s_std + s_mean
        return content + self.strength * (stylised - content)


class ResidualScaleNorm(nn.Module):
    """Add the residual, then put every token on a sphere of learnt radius.

    Returns the normalised stream and the sum that the next layer adds to.
    Shape: hidden, residual: (batch, seq, dim) -> two tensors of that shape
    """

    def __init__(self, dim: int = 384):
        super().__init__()
        self.radius = nn.Parameter(torch.tensor(dim**0.5))

    def forward(self, hidden, residual):
        stream = hidden + residual
        length = torch.linalg.vector_norm(stream, dim=-1, keepdim=True)
        return self.radius * stream / (length + EPS), stream
