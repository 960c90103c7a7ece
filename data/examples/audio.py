# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""From samples of sound to features and back."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def hz_to_mel(hz: float) -> float:
    return 2595.0 * math.log10(1.0 + hz / 700.0)


def mel_filters(n_mels: int, n_fft: int, sample_rate: int) -> Tensor:
    """Triangular filters, (n_fft // 2 + 1, n_mels)."""
    mel = torch.linspace(0.0, hz_to_mel(sample_rate / 2), n_mels + 2)
    edges = 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    bins = torch.linspace(0.0, sample_rate / 2, n_fft // 2 + 1).unsqueeze(1)
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return torch.minimum(rising, falling).clamp(min=0.0)


@dataclass
class MelConfig:
    sample_rate: int = 16000
    n_fft: int = 400
    hop_length: int = 160
    n_mels: int = 40


class LogMelSpectrogram(nn.Module):
    """Log energies in mel bands.

    waveform: (batch, samples) -> (batch, n_mels, frames)
    """

    def __init__(self, config: MelConfig = MelConfig()):
        super().__init__()
        self.n_fft = config.n_fft
        self.hop = config.hop_length
        self.register_buffer("window", torch.hann_window(config.n_fft))
        self.register_buffer("bank", mel_filters(config.n_mels, config.n_fft, config.sample_rate))

    def forward(self, waveform: Tensor) -> Tensor:
        frames = waveform.unfold(-1, self.n_fft, self.hop) * self.window
        power = torch.fft.rfft(frames).abs().square()
        return torch.log(power @ self.bank + 1e-6).transpose(1, 2)


class PreEmphasisFrames(nn.Module):
    """First-order high-pass, then overlapping windowed frames.

    audio: (batch, samples) -> (batch, frames, frame_length)
    """

    def __init__(self, frame_length=256, hop=64, coefficient=0.97):
        super().__init__()
        self.frame_length, self.hop = frame_length, hop
        self.coefficient = coefficient
        self.register_buffer("taper", torch.hamming_window(frame_length))

    def forward(self, audio):
        delayed = F.pad(audio, (1, 0))[:, :-1]
        crisp = audio - self.coefficient * delayed
        return crisp.unfold(1, self.frame_length, self.hop) * self.taper


class PerChannelEnergyNorm(nn.Module):
    """Automatic gain control per band with a smoothed background estimate.

    energy: (batch, bands, frames), non-negative
    """

    def __init__(self, bands: int = 40, smoothing: float = 0.04):
        super().__init__()
        self.smoothing = smoothing
        self.alpha = nn.Parameter(torch.full((bands,), 0.98))
        self.delta = nn.Parameter(torch.full((bands,), 2.0))
        self.root = nn.Parameter(torch.full((bands,), 0.5))

    def forward(self, energy: Tensor) -> Tensor:
        energy = energy.abs()
        background = [energy[..., 0]]
        for frame in energy[..., 1:].unbind(-1):
            background.append(torch.lerp(background[-1], frame, self.smoothing))
        smooth = torch.stack(background, dim=-1) + 1e-6
        alpha, delta, root = (p.unsqueeze(-1) for p in (self.alpha, self.delta, self.root))
        return (energy * smooth.pow(-alpha) + delta).pow(root) - delta.pow(root)


class SnakeActivation(nn.Module):
    """Periodic activation ``x + sin^2(a x) / a`` with a learnt frequency per channel.

    x: (B, C, T)
    """

    def __init__(self, channels: int = 128):
        super().__init__()
        self.log_a = nn.Parameter(torch.linspace(-0.5, 1.0, channels).unsqueeze(-1))

    def forward(self, x):
        a = self.log_a.exp()
        return x + torch.sin(a * x).square() / a


class SincBandpassBank(nn.Module):
    """Band-pass filters with two learnt numbers each: where the band starts and its width.

    x: (batch, 1, samples) -> (batch, bands, samples)
    """

    def __init__(self, bands: int = 32, taps: int = 101):
        super().__init__()
        assert taps % 2 == 1, "an odd number of taps keeps the filters in phase"
        self.start = nn.Parameter(torch.linspace(0.005, 0.4, bands).unsqueeze(1))
        self.breadth = nn.Parameter(torch.linspace(0.01, 0.08, bands).unsqueeze(1))
        self.register_buffer("n", torch.arange(taps) - taps // 2)
        self.register_buffer("window", torch.hamming_window(taps, periodic=False))

    def forward(self, x: Tensor) -> Tensor:
        low = self.start.abs()
        high = (low + self.breadth.abs()).clamp(max=0.5)
        kernel = 2 * high * torch.sinc(2 * high * self.n) - 2 * low * torch.sinc(2 * low * self.n)
        return F.conv1d(x, (kernel * self.window).unsqueeze(1), padding="same")
