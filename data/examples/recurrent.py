# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrences stepped in time."""

import torch
from torch import Tensor, nn


class MinimalGatedUnit(nn.Module):
    """Recurrent layer with a single gate that both forgets and resets.

    Args:
        input_size: features per step.
        hidden_size: size of the state.

    x: (batch, time, input_size) -> all states (batch, time, hidden_size) and the last one
    """

    def __init__(self, input_size: int = 64, hidden_size: int = 96):
        super().__init__()
        self.hidden_size = hidden_size
        self.from_input = nn.Linear(input_size, 2 * hidden_size)
        self.gate_from_state = nn.Linear(hidden_size, hidden_size, bias=False)
        self.cand_from_state = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        gate_in, cand_in = self.from_input(x).chunk(2, dim=-1)
        h = x.new_zeros(x.size(0), self.hidden_size)
        states = []
        for g, c in zip(gate_in.unbind(1), cand_in.unbind(1)):
            f = torch.sigmoid(g + self.gate_from_state(h))
            h = torch.lerp(h, torch.tanh(c + self.cand_from_state(f * h)), f)
            states.append(h)
        return torch.stack(states, dim=1), h


class ForgetPool(nn.Module):
    """Quasi-recurrent layer: gates come from a causal convolution, only the pooling is serial.

    sequence: (batch, channels, time)
    """

    def __init__(self, channels=64, hidden=64, width=3):
        super().__init__()
        self.left_pad = nn.ZeroPad1d((width - 1, 0))
        self.conv = nn.Conv1d(channels, 3 * hidden, width)

    def forward(self, sequence):
        z, f, o = self.conv(self.left_pad(sequence)).chunk(3, dim=1)
        fresh = torch.tanh(z) * torch.sigmoid(-f)
        keep = torch.sigmoid(f)
        cell = fresh[..., 0]
        cells = [cell]
        for t in range(1, fresh.size(-1)):
            cell = keep[..., t] * cell + fresh[..., t]
            cells.append(cell)
        return torch.sigmoid(o) * torch.stack(cells, dim=-1)


class LeakySpikingLayer(nn.Module):
    """Leaky integrate-and-fire neurons: spike above threshold, then subtract it.

    Returns spikes and membrane potentials, both (time, batch, neurons).
    current: (time, batch, neurons)
    """

    def __init__(self, neurons: int = 128, threshold: float = 1.0):
        super().__init__()
        self.threshold = threshold
        self.leak = nn.Parameter(torch.linspace(0.6, 0.95, neurons))

    def forward(self, current: Tensor) -> tuple[Tensor, Tensor]:
        potential = current.new_zeros(current.shape[1:])
        spikes, trace = [], []
        for step in current:
            potential = self.leak * potential + step
            fired = (potential > self.threshold).to(current.dtype)
            potential = potential - self.threshold * fired
            spikes.append(fired)
            trace.append(potential)
        return torch.stack(spikes), torch.stack(trace)


class EchoReservoir(nn.Module):
    """Fixed random reservoir with a leak; only the read-out is learnt.

    signal: (batch, steps, in_features) -> (batch, steps, out_features)
    """

    def __init__(self, in_features: int = 8, units: int = 100, out_features: int = 4, *, leak=0.3):
        super().__init__()
        recurrent = torch.randn(units, units) * (0.9 / units**0.5)
        self.register_buffer("w_in", torch.empty(units, in_features).uniform_(-0.5, 0.5))
        self.register_buffer("w_rec", recurrent)
        self.readout = nn.Linear(units + in_features, out_features)
        self.leak = leak

    def forward(self, signal):
        state = signal.new_zeros(signal.shape[0], self.w_rec.shape[0])
        outputs = []
        for u in signal.unbind(dim=1):
            drive = torch.addmm(u @ self.w_in.T, state, self.w_rec)
            state = (1 - self.leak) * state + self.leak * drive.tanh()
            outputs.append(self.readout(torch.cat((state, u), dim=1)))
        return torch.stack(outputs, dim=1)
