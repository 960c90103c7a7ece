# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Classic signal processing as modules."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT_HALF = math.sqrt(0.5)


class LocalPolynomialSmoother(nn.Module):
    """Savitzky-Golay smoothing: a least-squares polynomial through a sliding window.

    x: (batch, channels, length) -> same shape, borders reflected
    """

    def __init__(self, window: int = 11, degree: int = 3):
        super().__init__()
        half = window // 2
        t = torch.arange(-half, half + 1, dtype=torch.float64)
        powers = t[:, None] ** torch.arange(degree + 1)
        taps = torch.linalg.pinv(powers)[0]
        self.half = half
        self.register_buffer("taps", taps.float().view(1, 1, -1))

    def forward(self, x: Tensor) -> Tensor:
        b, c, n = x.shape
        padded = F.pad(x, (self.half, self.half), mode="reflect")
        return F.conv1d(padded.flatten(0, 1).unsqueeze(1), self.taps).view(b, c, n)


class HaarPyramid2d(nn.Module):
    """One level of the Haar transform; the three detail bands are soft-thresholded per channel.

    image: (B, C, H, W), H and W even -> (B, C, H/2, W/2), (B, 3 * C, H/2, W/2)
    """

    def __init__(self, in_channels: int = 3, threshold: float = 0.1):
        super().__init__()
        self.threshold = nn.Parameter(torch.full((in_channels, 1, 1), threshold))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        top, bottom = image[..., 0::2, :], image[..., 1::2, :]
        low, high = (top + bottom) * ROOT_HALF, (top - bottom) * ROOT_HALF
        approx = (low[..., 0::2] + low[..., 1::2]) * ROOT_HALF
        details = torch.stack(
            [
                low[..., 0::2] - low[..., 1::2],
                high[..., 0::2] + high[..., 1::2],
                high[..., 0::2] - high[..., 1::2],
            ],
            dim=1,
        )
        details = details * ROOT_HALF
        shrunk = torch.sign(details) * F.relu(details.abs() - self.threshold)
        return approx, shrunk.flatten(1, 2)


class BiquadCascade(nn.Module):
    """Second-order recursive filters in series, stable by construction.

    x: (batch, time)
    """

    def __init__(self, sections: int = 3):
        super().__init__()
        self.feedforward = nn.Parameter(torch.tensor([[0.6, 0.3, 0.1]]).repeat(sections, 1))
        self.radius = nn.Parameter(torch.linspace(0.2, 1.5, sections))
        self.angle = nn.Parameter(torch.linspace(0.3, 2.0, sections))

    def forward(self, x: Tensor) -> Tensor:
        r = torch.sigmoid(self.radius)
        a1, a2 = -2 * r * torch.cos(self.angle), r * r
        for (b0, b1, b2), c1, c2 in zip(self.feedforward, a1, a2):
            past = F.pad(x, (2, 0))
            driven = b0 * x + b1 * past[:, 1:-1] + b2 * past[:, :-2]
            y1 = y2 = x.new_zeros(x.size(0))
            out = []
            for v in driven.unbind(1):
                y1, y2 = v - c1 * y1 - c2 * y2, y1
                out.append(y1)
            x = torch.stack(out, dim=1)
        return x


class HilbertEnvelope(nn.Module):
    """Instantaneous amplitude and phase step of a real signal, through its analytic signal.

    x: (..., length) -> amplitude (..., length), phase step (..., length - 1)
    """

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n = x.size(-1)
        spectrum = torch.fft.fft(x)
        gain = torch.zeros(n, dtype=x.dtype, device=x.device)
        gain[0] = 1.0
        gain[1 : (n + 1) // 2] = 2.0
        if n % 2 == 0:
            gain[n // 2] = 1.0
        analytic = torch.fft.ifft(spectrum * gain)
        turn = analytic[..., 1:] * analytic[..., :-1].conj()
        return analytic.abs(), torch.angle(turn)


class PolyphaseUpsampler(nn.Module):
    """Upsample by an integer factor with one learnt filter, only computing what is kept.

    x: (batch, 1, length) -> (batch, 1, factor * length)
    """

    def __init__(self, factor: int = 4, taps_per_phase: int = 8):
        super().__init__()
        t = (torch.arange(factor * taps_per_phase) - factor * taps_per_phase / 2 + 0.5) / factor
        prototype = torch.sinc(t) * torch.hann_window(len(t), periodic=False)
        self.phases = nn.Parameter(prototype.view(taps_per_phase, factor).t().unsqueeze(1))

    def forward(self, x: Tensor) -> Tensor:
        taps = self.phases.size(-1)
        padded = F.pad(x, ((taps - 1) // 2, taps // 2))
        return F.conv1d(padded, self.phases.flip(-1)).transpose(1, 2).flatten(1).unsqueeze(1)
