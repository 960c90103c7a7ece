# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Scores that compare two signals or judge predictions."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class StructuralSimilarity(nn.Module):
    """Local structural similarity of two images under a Gaussian window.

    x, y: (B, C, H, W) in [0, 1] -> map (B, C, H - 10, W - 10), mean (B,)
    """

    def __init__(self, window: int = 11, sigma: float = 1.5, data_range: float = 1.0):
        super().__init__()
        t = torch.arange(window) - (window - 1) / 2
        profile = torch.softmax(-t.square() / (2 * sigma**2), dim=0)
        self.register_buffer("profile", profile)
        self.c1 = (0.01 * data_range) ** 2
        self.c2 = (0.03 * data_range) ** 2

    def _blur(self, image: Tensor) -> Tensor:
        c = image.size(1)
        rows = self.profile.view(1, 1, -1, 1).expand(c, -1, -1, -1)
        return F.conv2d(F.conv2d(image, rows, groups=c), rows.mT, groups=c)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        mx, my = self._blur(x), self._blur(y)
        vx = self._blur(x * x) - mx * mx
        vy = self._blur(y * y) - my * my
        cov = self._blur(x * y) - mx * my
        luminance = (2 * mx * my + self.c1) / (mx * mx + my * my + self.c1)
        ssim = luminance * (2 * cov + self.c2) / (vx + vy + self.c2)
        return ssim, ssim.mean(dim=(1, 2, 3))


class ScaleInvariantSignalRatio(nn.Module):
    """Ratio in decibels of the part of an estimate that lies along the target to the rest.

    estimate, target: (batch, sources, samples) -> (batch, sources)
    """

    def __init__(self, eps: float = 1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, estimate: Tensor, target: Tensor) -> Tensor:
        target = target - target.mean(-1, keepdim=True)
        estimate = estimate - estimate.mean(-1, keepdim=True)
        power = target.square().sum(-1, keepdim=True) + self.eps
        along = (estimate * target).sum(-1, keepdim=True) / power * target
        noise = estimate - along
        return 10 * torch.log10(along.square().sum(-1) / (noise.square().sum(-1) + self.eps))


class PeakSignalToNoise(nn.Module):
    """PSNR per image, on luma only. a, b: (B, 3, H, W) in [0, 1]."""

    def __init__(self):
        super().__init__()
        self.register_buffer("luma", torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1))

    def forward(self, a, b):
        error = ((a - b) * self.luma).sum(dim=1)
        return -10.0 * torch.log10(error.square().mean(dim=(1, 2)) + 1e-10)


class CalibrationGap(nn.Module):
    """Gap between confidence and accuracy in each bin of confidence.

    logits: (N, num_classes); labels: (N,) int64 in [0, num_classes) -> (bins,)
    """

    def __init__(self, bins: int = 10):
        super().__init__()
        self.bins = bins

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        confidence, predicted = logits.softmax(dim=-1).max(dim=-1)
        surplus = confidence - (predicted == labels).to(logits.dtype)
        slot = (confidence * self.bins).long().clamp(max=self.bins - 1)
        total = logits.new_zeros(self.bins).index_add(0, slot, surplus)
        return total / logits.size(0)


class RecallAtRanks(nn.Module):
    """Share of queries whose own gallery item is among the best k, for several k.

    queries, gallery: (n, dim), row i of one belongs to row i of the other
    """

    def __init__(self, ranks: tuple[int, ...] = (1, 5, 10)):
        super().__init__()
        self.register_buffer("ranks", torch.tensor(ranks))

    def forward(self, queries: Tensor, gallery: Tensor) -> Tensor:
        similarity = queries @ F.normalize(gallery, dim=1).t()  # a query's length ranks nothing
        better = similarity > similarity.diagonal().unsqueeze(1)
        rank = better.sum(dim=1) + 1
        return (rank.unsqueeze(1) <= self.ranks).to(queries.dtype).mean(dim=0)
