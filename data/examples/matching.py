# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Correspondence between two images, sets or frames."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LocalCorrelationVolume(nn.Module):
    """Similarity of each pixel to its displaced partners in the other frame.

    first, second: (B, C, H, W) -> (B, (2 * radius + 1) ** 2, H, W)
    """

    def __init__(self, radius: int = 3):
        super().__init__()
        self.radius = radius

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        b, c, h, w = first.shape
        r = self.radius
        padded = F.pad(second, (r, r, r, r))
        planes = [
            (first * padded[:, :, dy : dy + h, dx : dx + w]).mean(dim=1)
            for dy in range(2 * r + 1)
            for dx in range(2 * r + 1)
        ]
        return F.leaky_relu(torch.stack(planes, dim=1), 0.1)


class FlowWarp(nn.Module):
    """Pull the second frame back along a flow, and mark the pixels that leave the image.

    frame: (B, C, H, W); flow: (B, 2, H, W) in pixels, x first
    Returns the warped frame with the absent pixels set to `fill`.
    """

    def __init__(self, fill: float = -1.0):
        super().__init__()
        self.fill = fill

    def forward(self, frame: Tensor, flow: Tensor) -> Tensor:
        _, _, h, w = frame.shape
        x = torch.arange(w, device=flow.device) + flow[:, 0]
        y = torch.arange(h, device=flow.device).unsqueeze(1) + flow[:, 1]
        grid = torch.stack([2 * x / (w - 1) - 1, 2 * y / (h - 1) - 1], dim=-1)
        warped = F.grid_sample(frame, grid, align_corners=True)
        outside = (grid.abs() > 1).any(dim=-1).unsqueeze(1)
        return warped.masked_fill(outside, self.fill)


class SinkhornMatcher(nn.Module):
    """Optimal-transport assignment in log space, with a dustbin for the unmatched.

    left: (B, N, dim); right: (B, M, dim) -> log assignment (B, N + 1, M + 1)
    """

    def __init__(self, dim: int = 64, iterations: int = 5, dustbin: float = 1.0):
        super().__init__()
        self.iterations = iterations
        self.project = nn.Linear(dim, dim)
        self.dustbin = nn.Parameter(torch.tensor(dustbin))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        n, m = left.size(1), right.size(1)
        scores = self.project(left) @ self.project(right).mT * (8.0 / left.size(-1) ** 0.5)
        bin_row = self.dustbin.expand(left.size(0), 1, m)
        bin_column = self.dustbin.expand(left.size(0), n + 1, 1)
        z = torch.cat([torch.cat([scores, bin_row], dim=1), bin_column], dim=2)
        log_mu = F.pad(z.new_zeros(n), (0, 1), value=math.log(m))
        log_nu = F.pad(z.new_zeros(m), (0, 1), value=math.log(n))
        v = z.new_zeros(z.size(0), m + 1)
        for _ in range(self.iterations):
            u = log_mu - torch.logsumexp(z + v.unsqueeze(1), dim=2)
            v = log_nu - torch.logsumexp(z + u.unsqueeze(2), dim=1)
        return z + u.unsqueeze(2) + v.unsqueeze(1)


class MutualNearestFilter(nn.Module):
    """Dampen matches that are not each other's best, by the product of their relative scores.

    similarity: (B, N, M), made positive first
    """

    def forward(self, similarity: Tensor) -> Tensor:
        s = F.softplus(similarity)
        return s * (s / s.amax(dim=1, keepdim=True)) * (s / s.amax(dim=2, keepdim=True))


class SoftArgmaxKeypoints(nn.Module):
    """Expected position, in pixels, under each heat map, and how far the mass spreads.

    heatmaps: (B, K, H, W) -> positions (B, K, 2), spread (B, K)
    """

    def __init__(self, temperature: float = 0.5):
        super().__init__()
        self.temperature = temperature

    def forward(self, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        b, k, h, w = heatmaps.shape
        p = (heatmaps.flatten(2) / self.temperature).softmax(-1).view(b, k, h, w)
        xs = torch.arange(w, dtype=p.dtype, device=p.device)
        ys = torch.arange(h, dtype=p.dtype, device=p.device)
        px, py = p.sum(2), p.sum(3)
        mean_x, mean_y = px @ xs, py @ ys
        spread = px @ xs.square() - mean_x.square() + py @ ys.square() - mean_y.square()
        return torch.stack([mean_x, mean_y], dim=-1), spread
