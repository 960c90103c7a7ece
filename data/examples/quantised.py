# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Layers whose weights or activations live in few bits."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def unpack_nibbles(packed: Tensor) -> Tensor:
    """(rows, n) uint8 -> (rows, 2n) integers in [-8, 7]; low nibble first."""
    low, high = packed & 0x0F, packed >> 4
    return torch.stack((low, high), dim=-1).flatten(-2).to(torch.int8) - 8


class NibbleLinear(nn.Module):
    """Linear layer with packed 4-bit weights, one scale per group of inputs.

    x: (batch, in_features) -> (batch, out_features)
    """

    def __init__(self, in_features: int = 256, out_features: int = 128, group_size: int = 32):
        super().__init__()
        assert in_features % group_size == 0
        self.group_size = group_size
        packed = torch.randint(0, 256, (out_features, in_features // 2), dtype=torch.uint8)
        scales = 0.01 + 0.02 * torch.rand(out_features, in_features // group_size)
        self.register_buffer("packed", packed)
        self.register_buffer("scales", scales)
        self.bias = nn.Parameter(torch.linspace(-0.5, 0.5, out_features))

    def forward(self, x: Tensor) -> Tensor:
        q = unpack_nibbles(self.packed).unflatten(-1, (-1, self.group_size))
        weight = (q * self.scales.unsqueeze(-1)).flatten(-2)
        return F.linear(x, weight.to(x.dtype), self.bias)


class DynamicInt8Linear(nn.Module):
    """Activations are quantised per row on the fly, weights per column beforehand.

    The product accumulates in 32-bit integers and is scaled back once.
    """

    def __init__(self, in_features: int = 128, out_features: int = 192):
        super().__init__()
        w = torch.randn(out_features, in_features) * in_features**-0.5
        step = w.abs().amax(dim=1, keepdim=True) / 127
        self.register_buffer("weight_q", torch.round(w / step).to(torch.int8))
        self.register_buffer("weight_step", step.squeeze(1))

    def forward(self, activations: Tensor) -> Tensor:
        """activations: (tokens, in_features)"""
        step = activations.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 127
        q = torch.round(activations / step).to(torch.int32)
        accumulated = q @ self.weight_q.t().to(torch.int32)
        return accumulated.to(activations.dtype) * step * self.weight_step


class LearnedStepQuantizer(nn.Module):
    """Round to a grid of learnt pitch per channel, then back to floats.

    x: (B, C, H, W)
    """

    def __init__(self, channels: int = 32, bits: int = 4):
        super().__init__()
        self.q_min, self.q_max = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        self.step = nn.Parameter(torch.linspace(0.1, 0.3, channels).view(1, -1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.round(x / self.step).clamp(self.q_min, self.q_max) * self.step


class TernaryLinear(nn.Module):
    """Weights are -1, 0 or +1 times their mean size; inputs are normalised and put on 8 bits.

    Shape: (batch, seq, in_dim) -> (batch, seq, out_dim)
    """

    def __init__(self, in_dim: int = 128, out_dim: int = 128):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim) * 0.05)
        self.eps = 1e-5

    def forward(self, x):
        x = F.rms_norm(x, x.shape[-1:])
        gamma = 127.0 / (x.abs().amax(dim=-1, keepdim=True) + self.eps)
        x_q = (x * gamma).round()
        mean_size = self.weight.abs().mean()
        w_q = (self.weight / (mean_size + self.eps)).round().clamp(-1, 1)
        return F.linear(x_q, w_q) * mean_size / gamma


class ProductCodebookLinear(nn.Module):
    """Each weight row is a row of codebook entries; the layer sums inner products from a table.

    x: (batch, num_books * width)
    """

    def __init__(self, num_books=16, width=8, entries=64, out_features=96):
        super().__init__()
        self.codebooks = nn.Parameter(torch.randn(num_books, entries, width) * 0.2)
        codes = torch.randint(entries, (num_books, out_features))
        self.register_buffer("codes", codes)

    def forward(self, x: Tensor) -> Tensor:
        books, _, width = self.codebooks.shape
        table = torch.einsum("bmw,mew->bme", x.view(-1, books, width), self.codebooks)
        picked = table.gather(2, self.codes.expand(x.size(0), -1, -1))
        return picked.sum(dim=1)
