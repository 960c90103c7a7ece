# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Modules with one defect each, named in the docstring. A careful filter stops them all."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class IgnoresMask(nn.Module):
    """Defect: the output ignores an input, `mask`.

    x: (batch, seq, dim); mask: (batch, seq) boolean
    """

    def __init__(self, dim: int = 64):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        weight = self.score(x).softmax(dim=1)
        return (weight * x).sum(dim=1)


class AddsNoiseAlways(nn.Module):
    """Defect: randomness in forward, in evaluation too. x: (batch, dim)."""

    def __init__(self, dim: int = 64, sigma: float = 0.1):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.sigma = sigma

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.proj(x + self.sigma * torch.randn_like(x)))


class RemembersLastBatch(nn.Module):
    """Defect: state changes between calls, so that equal inputs give different outputs.

    x: (batch, channels)
    """

    def __init__(self, channels: int = 32, momentum: float = 0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("average", torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        self.average = self.momentum * self.average + (1 - self.momentum) * x.mean(dim=0)
        return torch.tanh(x - self.average)


class NormalisesInPlace(nn.Module):
    """Defect: the caller's tensor is mutated. x: (batch, features)."""

    def forward(self, x: Tensor) -> Tensor:
        x -= x.mean(dim=1, keepdim=True)
        x /= x.std(dim=1, keepdim=True) + 1e-5
        return x * torch.sigmoid(x)


class SoftmaxOfOneLogit(nn.Module):
    """Defect: constant output; a softmax over a single class is one. x: (batch, in_features)."""

    def __init__(self, in_features: int = 64):
        super().__init__()
        self.classify = nn.Linear(in_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(self.classify(x), dim=-1)


class ForgottenBranch(nn.Module):
    """Defect: dead computation; the second convolution runs and its result is dropped.

    image: (B, C, H, W)
    """

    def __init__(self, channels: int = 16):
        super().__init__()
        self.near = nn.Conv2d(channels, channels, 3, padding=1)
        self.far = nn.Conv2d(channels, channels, 3, padding=2, dilation=2)

    def forward(self, image: Tensor) -> Tensor:
        near = F.gelu(self.near(image))
        far = F.gelu(self.far(image))
        far = far * near
        return near + image


class UnusedTemperature(nn.Module):
    """Defect: the parameter `temperature` is never used. a, b: (batch, dim)."""

    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(0.07))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return F.cosine_similarity(a.unsqueeze(1), b.unsqueeze(0), dim=-1)


class OnlyRearranges(nn.Module):
    """Defect: view only; no arithmetic, nothing for a kernel to do. x: (B, C, H, W)."""

    def __init__(self, groups: int = 4):
        super().__init__()
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(1, (self.groups, -1)).transpose(1, 2).permute(0, 3, 4, 1, 2)


class LogOfDifference(nn.Module):
    """Defect: NaN output wherever a is smaller than b. a, b: (batch, dim)."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.log(a - b) + torch.sqrt(a * b)


class IdenticalKeys(nn.Module):
    """Defect: uniform output; attention over identical keys gives every query the same mean.

    x: (batch, seq, dim)
    """

    def __init__(self, dim: int = 32):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Parameter(torch.linspace(-1, 1, dim))

    def forward(self, x: Tensor) -> Tensor:
        keys = self.key.expand_as(x)
        scores = self.query(x) @ keys.transpose(1, 2)
        return scores.softmax(dim=-1) @ x
