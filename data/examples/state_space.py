# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Linear-time sequence mixers with a state."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ChunkedDecayScan(nn.Module):
    """Linear attention with a per-head decay, computed chunk by chunk.

    Inside a chunk the tokens interact through a decayed causal matrix; between chunks only
    a (head_dim x head_dim) state travels. Equal to the token-by-token recurrence
    ``S_t = d * S_{t-1} + k_t v_t^T,  y_t = q_t S_t``.

    x: (batch, seq, dim), seq a multiple of chunk
    Returns the output, of the same shape, and the state after the last token.
    """

    def __init__(self, dim: int = 128, num_heads: int = 4, chunk: int = 16):
        super().__init__()
        self.num_heads = num_heads
        self.chunk = chunk
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.gate = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim, bias=False)
        decay = 1 - torch.exp2(-torch.arange(3, 3 + num_heads).float())
        self.log_decay = nn.Parameter(decay.log())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        b, n, d = x.shape
        assert n % self.chunk == 0, f"length {n} is no multiple of {self.chunk}"
        q, k, v = self.qkv(x).view(b, n // self.chunk, self.chunk, 3, self.num_heads, -1).unbind(3)
        q = q / math.sqrt(q.size(-1))
        t = torch.arange(self.chunk, device=x.device, dtype=x.dtype)
        log_decay = self.log_decay.clamp(max=0.0)

        lag = t[:, None] - t[None, :]
        inner = torch.exp(log_decay[:, None, None] * lag).tril()
        scores = torch.einsum("bcihe,bcjhe->bchij", q, k) * inner
        y = torch.einsum("bchij,bcjhf->bcihf", scores, v)

        to_end = torch.exp(log_decay * (self.chunk - 1 - t)[:, None])
        updates = torch.einsum("bcjhe,jh,bcjhf->bchef", k, to_end, v)
        from_start = torch.exp(log_decay * (t + 1)[:, None])
        whole = torch.exp(log_decay * self.chunk)[:, None, None]
        state = x.new_zeros(b, *updates.shape[2:])
        carried = []
        for update in updates.unbind(1):
            carried.append(state)
            state = whole * state + update
        y = y + torch.einsum("bcihe,ih,bchef->bcihf", q, from_start, torch.stack(carried, 1))
        return self.out(y.reshape(b, n, d) * F.silu(self.gate(x))), state


class DiagonalStateSpaceFilter(nn.Module):
    """A bank of damped complex oscillators per channel, applied as one long FFT convolution.

    u: (batch, channels, length)
    """

    def __init__(self, channels: int = 64, state_size: int = 16):
        super().__init__()
        rate = torch.linspace(math.log(0.01), math.log(0.2), channels)
        self.log_step = nn.Parameter(rate)
        self.log_damping = nn.Parameter(torch.full((channels, state_size), math.log(0.5)))
        harmonics = math.pi * torch.arange(state_size).float()
        self.frequency = nn.Parameter(harmonics.repeat(channels, 1))
        self.read_out = nn.Parameter(torch.randn(channels, state_size, 2) / state_size**0.5)
        self.direct = nn.Parameter(torch.linspace(0.5, 1.0, channels))

    def kernel(self, length: int) -> Tensor:
        """Impulse response of each channel: (channels, length)."""
        pole = torch.complex(-self.log_damping.exp(), self.frequency)
        a = pole * self.log_step.exp()[:, None]
        residue = torch.view_as_complex(self.read_out) * (torch.exp(a) - 1) / pole
        steps = torch.arange(length, device=a.device)
        return 2 * torch.einsum("cs,csl->cl", residue, torch.exp(a[..., None] * steps)).real

    def forward(self, u: Tensor) -> Tensor:
        length = u.shape[-1]
        padded = 2 * length  # so that the circular convolution does not wrap round
        spectrum = torch.fft.rfft(u, n=padded) * torch.fft.rfft(self.kernel(length), n=padded)
        return torch.fft.irfft(spectrum, n=padded)[..., :length] + self.direct[:, None] * u


class DeltaRuleMemory(nn.Module):
    """Associative memory that corrects itself: each token writes only what the memory got wrong.

    Shape: (batch, seq, dim) -> (batch, seq, dim)
    """

    def __init__(self, dim: int = 96, num_heads: int = 3):
        super().__init__()
        self.num_heads = num_heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim)
        self.to_beta = nn.Linear(dim, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        split = (self.num_heads, -1)
        q = F.normalize(self.to_q(x).unflatten(-1, split), dim=-1)
        k = F.normalize(self.to_k(x).unflatten(-1, split), dim=-1)
        v = self.to_v(x).unflatten(-1, split)
        beta = torch.sigmoid(self.to_beta(x)).unsqueeze(-1)
        memory = x.new_zeros(x.size(0), self.num_heads, k.size(-1), v.size(-1))
        reads = []
        for t in range(x.size(1)):
            recalled = torch.einsum("bhk,bhkv->bhv", k[:, t], memory)
            correction = beta[:, t] * (v[:, t] - recalled)
            memory = memory + k[:, t].unsqueeze(-1) * correction.unsqueeze(-2)
            reads.append(torch.einsum("bhk,bhkv->bhv", q[:, t], memory))
        return torch.stack(reads, dim=1).flatten(2)


class LogDepthLinearRecurrence(nn.Module):
    """Input-dependent ``h_t = a_t * h_{t-1} + b_t`` by recursive doubling: log2(seq) passes.

    x: (B, T, C)
    """

    def __init__(self, channels: int = 128):
        super().__init__()
        self.project = nn.Linear(channels, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        forget, value = self.project(x).chunk(2, dim=-1)
        a = torch.sigmoid(forget + 1.0)
        h = (1 - a) * torch.tanh(value)
        length, reach = x.size(1), 1
        while reach < length:
            h = h + a * F.pad(h, (0, 0, reach, 0))[:, :-reach]
            if 2 * reach < length:
                a = a * F.pad(a, (0, 0, reach, 0), value=1.0)[:, :-reach]
            reach *= 2
        return h
