# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Gates: one branch of a layer decides how much of another passes."""

import torch
import torch.nn.functional as F
from torch import nn


class SpatialGatingUnit(nn.Module):
    """Half of the channels, mixed along the sequence, gates the other half.

    Args:
        dim: channels of the input; the output has half as many.
        seq_len: fixed length of the sequence.

    Shape: x: (batch, seq_len, dim) -> (batch, seq_len, dim // 2)
    """

    def __init__(self, dim: int = 256, seq_len: int = 64):
        super().__init__()
        assert dim % 2 == 0, "dim must be even"
        self.norm = nn.LayerNorm(dim // 2)
        self.mix = nn.Conv1d(seq_len, seq_len, kernel_size=1)
        nn.init.ones_(self.mix.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        content, gate = x.chunk(2, dim=-1)
        return content * self.mix(self.norm(gate))


class GatedFeedForward(nn.Module):
    """Feed-forward layer with one fused up-projection and a tanh-approximated GELU gate."""

    def __init__(self, hidden_size=256, intermediate_size=688):
        super().__init__()
        self.up = nn.Linear(hidden_size, 2 * intermediate_size, bias=False)
        self.down = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, hidden_states):  # (batch, seq, hidden_size)
        gate, value = self.up(hidden_states).chunk(2, dim=-1)
        return self.down(F.gelu(gate, approximate="tanh") * value)


class HighwayMixer(nn.Module):
    """Highway layer: carry gate and transform gate are tied to sum to one."""

    def __init__(self, dim: int = 128, carry_bias: float = -1.0):
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        nn.init.constant_(self.gate.bias, carry_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, dim)"""
        t = torch.sigmoid(self.gate(x))
        return x + t * (torch.tanh(self.transform(x)) - x)


class PeerContextGate(nn.Module):
    """Each token is gated by the mean of the *other* tokens of its sequence.

    tokens: (B, T, D); keep: (B, T) boolean, True where the token is real.
    """

    def __init__(self, dim: int = 192):
        super().__init__()
        self.to_gate = nn.Linear(dim, dim)

    def forward(self, tokens: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        weight = keep.unsqueeze(-1).to(tokens.dtype)
        total = (tokens * weight).sum(dim=1, keepdim=True)
        count = weight.sum(dim=1, keepdim=True)
        peers = (total - tokens * weight) / (count - weight + 1.0)
        return tokens * torch.sigmoid(self.to_gate(peers)) * weight
