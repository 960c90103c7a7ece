# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of diffusion models: steps of the sampler, conditioning, objectives."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ClassifierFreeGuidance(nn.Module):
    """Push the conditional prediction away from the unconditional one, then restore its spread.

    conditional, unconditional: (B, C, H, W)
    """

    def __init__(self, scale: float = 5.0, rescale: float = 0.7):
        super().__init__()
        self.scale, self.rescale = scale, rescale

    def forward(self, conditional: Tensor, unconditional: Tensor) -> Tensor:
        guided = unconditional + self.scale * (conditional - unconditional)
        per_image = (1, 2, 3)
        ratio = conditional.std(per_image, keepdim=True) / guided.std(per_image, keepdim=True)
        return guided * torch.lerp(torch.ones_like(ratio), ratio, self.rescale)


class DeterministicSamplerStep(nn.Module):
    """From one noise level to the next without new noise, given predicted noise.

    x: (B, C, H, W); noise: (B, C, H, W); step: (B,) int64 in [1, num_steps)
    """

    def __init__(self, num_steps: int = 50):
        super().__init__()
        t = torch.linspace(0, 1, num_steps + 1)[1:]
        self.register_buffer("alpha_bar", torch.cos(t * 1.5).square())

    def forward(self, x: Tensor, noise: Tensor, step: Tensor) -> Tensor:
        now = self.alpha_bar[step].view(-1, 1, 1, 1)
        then = self.alpha_bar[step - 1].view(-1, 1, 1, 1)
        clean = (x - (1 - now).sqrt() * noise) / now.sqrt()
        return then.sqrt() * clean + (1 - then).sqrt() * noise


class AdaptiveLayerNormZero(nn.Module):
    """Layer norm whose scale, shift and gate come from a condition; wraps a feed-forward branch.

    x: (batch, tokens, dim); condition: (batch, cond_dim)
    """

    def __init__(self, dim: int = 128, cond_dim: int = 64):
        super().__init__()
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(cond_dim, 3 * dim))
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale, gate = self.modulation(condition).unsqueeze(1).chunk(3, dim=-1)
        modulated = F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift
        return x + gate * self.fc2(F.gelu(self.fc1(modulated), approximate="tanh"))


class TimeConditionedResidual(nn.Module):
    """Residual convolution block modulated by a time vector between its two convolutions.

    x: (B, in_channels, H, W); time: (B, time_dim)
    """

    def __init__(self, in_channels: int = 32, out_channels: int = 64, time_dim: int = 128):
        super().__init__()
        self.enter = nn.Sequential(
            nn.GroupNorm(8, in_channels),
            nn.SiLU(),
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
        )
        self.time = nn.Linear(time_dim, 2 * out_channels)
        self.norm = nn.GroupNorm(8, out_channels, affine=False)
        self.leave = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        self.skip = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        scale, shift = self.time(F.silu(time))[..., None, None].chunk(2, dim=1)
        h = self.norm(self.enter(x)) * (1 + scale) + shift
        return self.skip(x) + self.leave(F.silu(h))


class WeightedVelocityLoss(nn.Module):
    """Velocity objective with signal-to-noise weights clipped from above.

    predicted, clean, noise: (B, C, H, W); log_snr: (B,)
    """

    def __init__(self, max_snr: float = 5.0):
        super().__init__()
        self.max_snr = max_snr

    def forward(self, predicted: Tensor, clean: Tensor, noise: Tensor, log_snr: Tensor) -> Tensor:
        a = torch.sigmoid(log_snr).view(-1, 1, 1, 1)
        velocity = a.sqrt() * noise - (1 - a).sqrt() * clean
        error = (predicted - velocity).square().mean(dim=(1, 2, 3))
        snr = log_snr.exp()
        return (snr.clamp(max=self.max_snr) / (snr + 1) * error).mean()
