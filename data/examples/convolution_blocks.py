# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutions with something extra."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

conv1x1 = partial(nn.Conv2d, kernel_size=1, bias=False)


class InvolutionLayer(nn.Module):
    """The kernel is made from the centre pixel, differs per position and is shared by channels.

    x: (B, C, H, W) -> (B, C, H, W)
    """

    def __init__(self, channels=64, kernel_size=5, groups=4, reduction=4):
        super().__init__()
        self.kernel_size = kernel_size
        self.groups = groups
        self.reduce = conv1x1(channels, channels // reduction)
        self.span = nn.Conv2d(channels // reduction, kernel_size**2 * groups, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        k = self.kernel_size
        kernel = self.span(F.relu(self.reduce(x))).view(b, self.groups, 1, k * k, h, w)
        patches = F.unfold(x, k, padding=k // 2).view(b, self.groups, c // self.groups, k * k, h, w)
        return (kernel * patches).sum(dim=3).flatten(1, 2)


class CondensedKernelConv1d(nn.Module):
    """Depthwise causal convolution whose taps are predicted per token and softmax-normalised.

    x: (batch, time, channels)
    """

    def __init__(self, channels: int = 128, heads: int = 4, taps: int = 7):
        super().__init__()
        self.heads, self.taps = heads, taps
        self.predict = nn.Linear(channels, heads * taps)
        self.mix = nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        taps = self.predict(x).unflatten(-1, (self.heads, self.taps)).softmax(dim=-1)
        history = F.pad(x, (0, 0, self.taps - 1, 0)).unfold(1, self.taps, 1)
        history = history.unflatten(2, (self.heads, -1))
        return self.mix(torch.einsum("bthk,bthck->bthc", taps, history).flatten(2))


class FrequencySplitConv(nn.Module):
    """Two resolutions of features that exchange information in every layer.

    Takes and returns (high, low): (B, C_high, H, W) and (B, C_low, H/2, W/2).
    """

    def __init__(self, high_channels: int = 48, low_channels: int = 16):
        super().__init__()
        conv = partial(nn.Conv2d, kernel_size=3, padding=1)
        self.high_to_high = conv(high_channels, high_channels)
        self.high_to_low = conv(high_channels, low_channels, bias=False)
        self.low_to_high = conv(low_channels, high_channels, bias=False)
        self.low_to_low = conv(low_channels, low_channels)

    def forward(self, high, low):
        raised = F.interpolate(self.low_to_high(low), scale_factor=2, mode="nearest")
        lowered = self.high_to_low(F.avg_pool2d(high, 2))
        return self.high_to_high(high) + raised, self.low_to_low(low) + lowered


class LargeKernelGate(nn.Module):
    """A 21-wide receptive field from a small and a dilated depthwise kernel, used as a gate."""

    def __init__(self, in_channels: int = 64):
        super().__init__()
        depthwise = partial(nn.Conv2d, in_channels, in_channels, groups=in_channels)
        self.field = nn.Sequential(
            depthwise(kernel_size=5, padding=2),
            depthwise(kernel_size=7, padding=9, dilation=3),
            nn.Conv2d(in_channels, in_channels, 1),
        )

    def forward(self, x):
        """x: (N, in_channels, H, W)"""
        return x * self.field(x)


class WeightStandardisedConv(nn.Conv2d):
    """Convolution whose filters are standardised on use, then group-normalised and SiLU'd.

    x: (B, in_channels, H, W)
    """

    def __init__(self, in_channels: int = 32, out_channels: int = 64, kernel_size: int = 3):
        super().__init__(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.norm = nn.GroupNorm(8, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fan_in = self.weight.numel() // self.out_channels
        var, mean = torch.var_mean(self.weight, dim=(1, 2, 3), keepdim=True)
        weight = (self.weight - mean) * torch.rsqrt(var * fan_in + 1e-4)
        return F.silu(self.norm(F.conv2d(x, weight, self.bias, self.stride, self.padding)))


class OffsetSamplingConv(nn.Module):
    """Each output pixel gathers K bilinear samples at learnt offsets and mixes them.

    x: (B, C, H, W)
    """

    def __init__(self, channels: int = 32, points: int = 4, reach: float = 0.25):
        super().__init__()
        self.points = points
        self.reach = reach
        self.offset = nn.Conv2d(channels, 2 * points, 3, padding=1)
        self.mix = nn.Conv2d(points * channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        shift = self.reach * torch.tanh(self.offset(x)).view(b, self.points, 2, h, w)
        ys = torch.linspace(-1, 1, h, device=x.device, dtype=x.dtype)
        xs = torch.linspace(-1, 1, w, device=x.device, dtype=x.dtype)
        base = torch.stack(torch.meshgrid(xs, ys, indexing="xy"))
        grid = (base + shift).permute(0, 1, 3, 4, 2).reshape(b, self.points * h, w, 2)
        samples = F.grid_sample(x, grid, padding_mode="border", align_corners=True)
        samples = samples.view(b, c, self.points, h, w).flatten(1, 2)
        return self.mix(samples)
