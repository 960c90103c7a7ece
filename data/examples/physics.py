# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Small simulators, differentiable in their state."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# D2Q9 lattice: velocities and their weights
LATTICE = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)


class LennardJonesForces(nn.Module):
    """Energy and forces of particles in a periodic box, with a smooth minimum distance.

    positions: (particles, 3), in units of the box -> (particles,), (particles, 3)
    """

    def __init__(self, box: float = 6.0, sigma: float = 1.0, epsilon: float = 0.5):
        super().__init__()
        self.box, self.sigma, self.epsilon = box, sigma, epsilon

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        gap = positions.unsqueeze(1) - positions.unsqueeze(0)
        gap = (gap - gap.round()) * self.box
        r2 = gap.square().sum(-1) + 0.5 * self.sigma**2
        not_self = 1.0 - torch.eye(len(positions), dtype=gap.dtype, device=gap.device)
        s6 = (self.sigma**2 / r2).pow(3) * not_self
        energy = 2 * self.epsilon * (s6 * s6 - s6).sum(dim=1)
        pull = 24 * self.epsilon * (2 * s6 * s6 - s6) / r2
        return energy, (pull.unsqueeze(-1) * gap).sum(dim=1)


class AnisotropicHeatSteps(nn.Module):
    """Explicit heat equation with a conductivity per cell, insulated borders, several steps.

    temperature: (B, H, W); conductivity: (B, H, W)
    """

    def __init__(self, steps: int = 4, dt: float = 0.2):
        super().__init__()
        self.steps = steps
        self.dt = dt

    def forward(self, temperature: Tensor, conductivity: Tensor) -> Tensor:
        k = torch.sigmoid(conductivity)
        k_down = 0.5 * (k[:, 1:] + k[:, :-1])
        k_right = 0.5 * (k[:, :, 1:] + k[:, :, :-1])
        t = temperature
        for _ in range(self.steps):
            down = k_down * (t[:, 1:] - t[:, :-1])
            right = k_right * (t[:, :, 1:] - t[:, :, :-1])
            inflow = F.pad(down, (0, 0, 0, 1)) - F.pad(down, (0, 0, 1, 0))
            inflow = inflow + F.pad(right, (0, 1)) - F.pad(right, (1, 0))
            t = t + self.dt * inflow
        return t


class LatticeBoltzmannStep(nn.Module):
    """One collide-and-stream step of a two-dimensional lattice fluid on a torus.

    f: (batch, 9, H, W), populations; they are made positive first
    """

    def __init__(self, omega: float = 1.2):
        super().__init__()
        self.omega = omega
        self.register_buffer("velocity", torch.tensor(LATTICE, dtype=torch.float32))
        self.register_buffer("weight", torch.tensor(WEIGHTS))

    def forward(self, f: Tensor) -> Tensor:
        f = F.softplus(f)
        density = f.sum(dim=1, keepdim=True)
        flow = torch.einsum("bqhw,qd->bdhw", f, self.velocity) / density
        along = torch.einsum("qd,bdhw->bqhw", self.velocity, flow)
        speed2 = flow.square().sum(dim=1, keepdim=True)
        shape = 1 + 3 * along + 4.5 * along.square() - 1.5 * speed2
        equilibrium = self.weight[:, None, None] * density * shape
        f = torch.lerp(f, equilibrium, self.omega)
        streamed = [f[:, q].roll((dy, dx), dims=(1, 2)) for q, (dx, dy) in enumerate(LATTICE)]
        return torch.stack(streamed, dim=1)


class UpwindBurgers(nn.Module):
    """Burgers equation, first-order upwind flux, plus a little diffusion.

    u: (B, cells), on a ring
    """

    def __init__(self, cfl: float = 0.25, viscosity: float = 0.05):
        super().__init__()
        self.cfl = cfl
        self.viscosity = viscosity

    def forward(self, u: Tensor) -> Tensor:
        right = u.roll(-1, dims=1)
        speed = 0.5 * (u + right)
        flux = 0.5 * torch.where(speed > 0, u, right).square()
        slope = right - u
        transport = flux - flux.roll(1, dims=1)
        spread = slope - slope.roll(1, dims=1)
        return u - self.cfl * transport + self.viscosity * spread


class MetropolisFieldEnergy(nn.Module):
    """Energy change of flipping each spin of an Ising lattice with learnt bonds.

    spins: (batch, size, size), any real values; field: (size, size)
    """

    def __init__(self, size: int = 32):
        super().__init__()
        self.bonds = nn.Parameter(1.0 + 0.2 * torch.randn(2, size, size))

    def forward(self, spins: Tensor, field: Tensor) -> Tensor:
        s = torch.tanh(spins)
        local = field
        for axis, bond in zip((1, 2), self.bonds):
            ahead = bond * s.roll(-1, dims=axis)
            behind = (bond * s).roll(1, dims=axis)
            local = local + ahead + behind
        return 2 * s * local
