# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Pointwise transforms: each output element needs one element of each input."""

import math

import torch
from torch import nn

IMAGE_MEAN = (0.485, 0.456, 0.406)
IMAGE_STD = (0.229, 0.224, 0.225)


class PixelStandardise(nn.Module):
    """Bring pixel values to zero mean and unit variance per colour.

    image: (B, 3, H, W), values in [0, 1]
    """

    def __init__(self, mean=IMAGE_MEAN, std=IMAGE_STD):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, image):
        return (image - self.mean) / self.std


class ResidualBlend(nn.Module):
    """A learnt mix of two streams, one weight for all elements.

    Shape: both inputs (batch, seq, dim), the output likewise.
    """

    def __init__(self, init: float = 0.3) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.tensor(init))

    def forward(self, skip: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
        return torch.lerp(skip, update, torch.sigmoid(self.logit))


class GammaCorrection(nn.Module):
    """Linear light to display values. x: (B, C, H, W) in [0, 1]."""

    def __init__(self, gamma: float = 2.2):
        super().__init__()
        self.exponent = 1.0 / gamma

    def forward(self, x):
        return x.abs().pow(self.exponent)


class LogitAdjustment(nn.Module):
    """Correct a classifier for how often it saw each class.

    logits: (batch, num_classes)
    """

    def __init__(self, num_classes: int = 50, tau: float = 1.0):
        super().__init__()
        frequency = 1.0 / torch.arange(1, num_classes + 1)  # long-tailed
        self.register_buffer("shift", tau * torch.log(frequency / frequency.sum()))

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        return logits - self.shift


class ScaledResidual(nn.Module):
    """Add a branch, scaled per channel. x, branch: (batch, seq, dim)."""

    def __init__(self, dim: int = 256, init: float = 0.1):
        super().__init__()
        self.scale = nn.Parameter(torch.full((dim,), init))

    def forward(self, x, branch):
        return torch.addcmul(x, branch, self.scale)


class DecibelGain(nn.Module):
    """Amplify each clip by its own gain. clip: (batch, samples); gain_db: (batch,)."""

    def forward(self, clip: torch.Tensor, gain_db: torch.Tensor) -> torch.Tensor:
        return clip * torch.pow(10.0, gain_db / 20.0).unsqueeze(1)


class BoxDeltasToCorners(nn.Module):
    """Apply predicted deltas to anchors, as detectors do; centres in, corners out.

    anchors, deltas: (num_boxes, 4) as x, y, width, height
    """

    def __init__(self, variances: tuple[float, float] = (0.1, 0.2), max_scale: float = 4.0):
        super().__init__()
        self.move, self.stretch = variances
        self.max_scale = max_scale

    def forward(self, anchors, deltas):
        extent = anchors[:, 2:].abs()
        centre = anchors[:, :2] + self.move * deltas[:, :2] * extent
        half = 0.5 * extent * torch.exp((self.stretch * deltas[:, 2:]).clamp(max=self.max_scale))
        return torch.cat([centre - half, centre + half], dim=1)


class MuLawCompress(nn.Module):
    """Mu-law companding of audio samples; keeps the sign, compresses the size.

    wave: (batch, samples), about [-1, 1]
    """

    def __init__(self, mu: int = 255):
        super().__init__()
        self.mu = float(mu)

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        return torch.sign(wave) * torch.log1p(self.mu * wave.abs()) / math.log1p(self.mu)


class ProximalShrink(nn.Module):
    """Elastic-net proximal step: soft threshold per channel, then ridge shrinkage.

    codes: (N, num_atoms)
    """

    def __init__(self, num_atoms: int = 256, l1: float = 0.1, l2: float = 0.05):
        super().__init__()
        self.threshold = nn.Parameter(torch.linspace(0.5 * l1, 1.5 * l1, num_atoms))
        self.ridge = l2

    def forward(self, codes):
        shrunk = codes - codes.clamp(-self.threshold, self.threshold)
        return shrunk / (1.0 + self.ridge)


class PiecewiseCubicStep(nn.Module):
    """Smooth Hermite step between two learnt edges. x: (batch, features)."""

    def __init__(self, features: int = 128):
        super().__init__()
        self.low = nn.Parameter(torch.linspace(-1.0, -0.5, features))
        self.width = nn.Parameter(torch.linspace(1.0, 2.0, features))

    def forward(self, x):
        t = ((x - self.low) / self.width).clamp(0.0, 1.0)
        return t * t * (3.0 - 2.0 * t)
