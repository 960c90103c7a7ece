# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Training losses, reduced over the batch where that is the custom."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class FocalTverskyLoss(nn.Module):
    """Overlap loss for rare foreground: false negatives cost more than false positives.

    logits: (B, C, H, W); target: (B, C, H, W), soft labels in [0, 1]
    """

    def __init__(self, alpha: float = 0.3, beta: float = 0.7, gamma: float = 0.75):
        super().__init__()
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        p = torch.sigmoid(logits)
        dims = (0, 2, 3)
        hit = (p * target).sum(dims)
        missed = ((1 - p) * target).sum(dims)
        false_alarm = (p * (1 - target)).sum(dims)
        index = (hit + 1.0) / (hit + self.alpha * false_alarm + self.beta * missed + 1.0)
        return (1.0 - index).pow(self.gamma).mean()


class SymmetricContrastiveLoss(nn.Module):
    """Matched rows of two embedding tables attract, all other pairs repel.

    Shape: image, text: (batch, dim) -> scalar
    """

    def __init__(self, init_temperature: float = 0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / init_temperature)))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        image = F.normalize(image, dim=-1)
        text = F.normalize(text, dim=-1)
        logits = self.log_scale.exp() * image @ text.t()
        match = logits.diagonal()
        rows = torch.logsumexp(logits, dim=1) - match
        columns = torch.logsumexp(logits, dim=0) - match
        return 0.5 * (rows + columns).mean()


class RedundancyReductionLoss(nn.Module):
    """Cross-correlation of two views should be the identity matrix.

    z_a, z_b: (batch, dim), batch of at least 2
    """

    def __init__(self, off_diagonal_weight: float = 5e-3):
        super().__init__()
        self.off_diagonal_weight = off_diagonal_weight

    def forward(self, z_a, z_b):
        n, d = z_a.shape
        z_a = z_a / (z_a.std(0) + 1e-5)  # centring one side is enough for a covariance
        z_b = (z_b - z_b.mean(0)) / (z_b.std(0) + 1e-5)
        c = torch.einsum("ni,nj->ij", z_a, z_b) / n
        on = (c.diagonal() - 1).pow(2).sum()
        off = c.pow(2).sum() - c.diagonal().pow(2).sum()
        return (on + self.off_diagonal_weight * off) / d


class WingLoss(nn.Module):
    """Landmark loss: logarithmic near zero, absolute further out.

    predicted, target: (batch, num_points, 2)
    """

    def __init__(self, width: float = 1.0, curvature: float = 0.5):
        super().__init__()
        self.width = width
        self.curvature = curvature
        self.offset = width - width * math.log1p(width / curvature)

    def forward(self, predicted, target):
        error = (predicted - target).abs()
        near = self.width * torch.log1p(error / self.curvature)
        return torch.where(error < self.width, near, error - self.offset).mean()


class PinballLoss(nn.Module):
    """Quantile regression, a column of forecasts per quantile.

    forecast: (batch, horizon, num_quantiles)
    actual: (batch, horizon) -> (num_quantiles,)
    """

    def __init__(self, quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)):
        super().__init__()
        self.register_buffer("quantiles", torch.tensor(quantiles))

    def forward(self, forecast: Tensor, actual: Tensor) -> Tensor:
        gap = actual.unsqueeze(-1) - forecast
        return torch.maximum(self.quantiles * gap, (self.quantiles - 1) * gap).mean(dim=(0, 1))


class SmoothedPolyLoss(nn.Module):
    """Classification with label smoothing plus the first Poly-1 term.

    logits: (batch, num_classes) floats; labels: (batch,) int64 in [0, num_classes)
    """

    def __init__(self, num_classes: int = 100, *, smoothing: float = 0.1, epsilon: float = 1.0):
        super().__init__()
        self.num_classes = num_classes
        self.smoothing = smoothing
        self.epsilon = epsilon

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        log_p = F.log_softmax(logits, dim=-1)
        hot = F.one_hot(labels, self.num_classes).to(log_p.dtype)
        soft = hot * (1 - self.smoothing) + self.smoothing / self.num_classes
        nll = -(soft * log_p).sum(-1)
        p_true = (hot * log_p.exp()).sum(-1)
        return (nll + self.epsilon * (1 - p_true)).mean()


class SoftAlignmentCost(nn.Module):
    """Differentiable dynamic time warping: soft-min over all monotone alignments.

    The table is filled along anti-diagonals, whose cells do not depend on each other.

    a: (B, N, D); b: (B, M, D) -> (B,)
    """

    def __init__(self, gamma: float = 0.5):
        super().__init__()
        self.gamma = gamma

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        cost = torch.cdist(a, b).square()
        batch, n, m = cost.shape
        far = cost.new_full((batch, n + 1), 1e6)
        before = torch.cat([torch.zeros_like(far[:, :1]), far[:, 1:]], dim=1)
        last = far
        for k in range(2, n + m + 1):
            low, high = max(1, k - m), min(n, k - 1)
            i = torch.arange(low, high + 1, device=cost.device)
            steps = torch.stack([before[:, i - 1], last[:, i - 1], last[:, i]])
            best = -self.gamma * torch.logsumexp(-steps / self.gamma, dim=0)
            current = F.pad(cost[:, i - 1, k - i - 1] + best, (low, n - high), value=1e6)
            before, last = last, current
        return last[:, n]
