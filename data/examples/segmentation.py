# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Heads and objectives of dense prediction."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PyramidContextHead(nn.Module):
    """Pool the features at several grid sizes, bring them back up, classify every pixel.

    x: (B, in_channels, H, W) -> (B, num_classes, H, W)
    """

    def __init__(self, in_channels: int = 64, num_classes: int = 19, bins=(1, 2, 3, 6)):
        super().__init__()
        each = in_channels // len(bins)
        self.stages = nn.ModuleList(self._stage(in_channels, each, size) for size in bins)
        self.classify = nn.Conv2d(in_channels + each * len(bins), num_classes, 1)

    @staticmethod
    def _stage(c_in: int, c_out: int, size: int) -> nn.Sequential:
        pool = nn.AdaptiveAvgPool2d(size)
        return nn.Sequential(pool, nn.Conv2d(c_in, c_out, 1, bias=False), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[-2:]
        contexts = [
            F.interpolate(stage(x), size, mode="bilinear", align_corners=False)
            for stage in self.stages
        ]
        return self.classify(torch.cat([x, *contexts], dim=1))


class DynamicMaskHead(nn.Module):
    """Every instance brings the weights of its own tiny network, which draws its mask.

    features: (channels, H, W); parameters: (instances, P); centres: (instances, 2) in [0, 1]
    P = (channels + 2) * hidden + hidden + hidden + 1, here 8 * 8 + 8 + 8 + 1 for 6 channels.
    """

    def __init__(self, channels: int = 6, hidden: int = 8):
        super().__init__()
        self.hidden = hidden
        self.sizes = [(channels + 2) * hidden, hidden, hidden, 1]

    def forward(self, features: Tensor, parameters: Tensor, centres: Tensor) -> Tensor:
        _, h, w = features.shape
        n = len(parameters)
        w1, b1, w2, b2 = parameters.split(self.sizes, dim=1)
        ys = torch.linspace(0, 1, h, device=features.device)
        xs = torch.linspace(0, 1, w, device=features.device)
        grid = torch.stack(torch.meshgrid(ys, xs, indexing="ij"))
        relative = grid - centres[:, :, None, None]
        inputs = torch.cat([features.expand(n, -1, -1, -1), relative], dim=1).flatten(2)
        z = torch.baddbmm(b1.unsqueeze(2), w1.view(n, self.hidden, -1), inputs)
        mask = torch.baddbmm(b2.unsqueeze(2), w2.unsqueeze(1), F.relu(z))
        return torch.sigmoid(mask).view(n, h, w)


class BoundaryWeightedDice(nn.Module):
    """Dice loss in which pixels near a border of the target count more.

    logits: (B, K, H, W); labels: (B, H, W) int64 in [0, K)
    """

    def __init__(self, num_classes: int = 5, radius: int = 1, border_weight: float = 4.0):
        super().__init__()
        self.num_classes = num_classes
        self.window = 2 * radius + 1
        self.border_weight = border_weight

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        p = logits.softmax(dim=1)
        y = F.one_hot(labels, self.num_classes).permute(0, 3, 1, 2).to(p.dtype)
        grown = F.max_pool2d(y, self.window, stride=1, padding=self.window // 2)
        weight = 1 + self.border_weight * (grown - y)
        overlap = (weight * p * y).sum(dim=(2, 3))
        volume = (weight * (p + y)).sum(dim=(2, 3))
        return 1 - ((2 * overlap + 1) / (volume + 1)).mean()


class UncertainPointRefiner(nn.Module):
    """Predict again, with a point-wise network, the pixels of which the coarse mask is least sure.

    coarse: (B, 1, H, W) logits; fine: (B, channels, H, W)
    """

    def __init__(self, channels: int = 32, num_points: int = 16):
        super().__init__()
        self.num_points = num_points
        self.head = nn.Sequential(
            nn.Linear(channels + 1, channels), nn.GELU(), nn.Linear(channels, 1)
        )

    def forward(self, coarse: Tensor, fine: Tensor) -> Tensor:
        logits = coarse.flatten(2)
        points = (-logits.abs()).topk(self.num_points, dim=-1).indices
        picked = fine.flatten(2).gather(2, points.expand(-1, fine.size(1), -1))
        known = torch.cat([picked, logits.gather(2, points)], dim=1).transpose(1, 2)
        refined = self.head(known).transpose(1, 2)
        return logits.scatter(2, points, refined).view_as(coarse)
