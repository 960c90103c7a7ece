# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Points, rays and rotations."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class QuaternionRotate(nn.Module):
    """Rotate points by quaternions of any length.

    quaternion: (batch, 4), real part first; points: (batch, n, 3)
    """

    def forward(self, quaternion: Tensor, points: Tensor) -> Tensor:
        q = F.normalize(quaternion, dim=-1).unsqueeze(1)
        w, axis = q[..., :1], q[..., 1:].expand_as(points)
        twist = 2 * torch.linalg.cross(axis, points)
        return points + w * twist + torch.linalg.cross(axis, twist)


class HarmonicPositionEncoding(nn.Module):
    """Sines and cosines of growing frequency, faded in by a learnt window.

    xyz: (rays, samples, 3) -> (rays, samples, 3 * 2 * num_bands)
    """

    def __init__(self, num_bands: int = 8):
        super().__init__()
        self.register_buffer("frequency", math.pi * torch.exp2(torch.arange(num_bands).float() - 1))
        self.fade = nn.Parameter(torch.linspace(1.5, -0.5, num_bands))

    def forward(self, xyz: Tensor) -> Tensor:
        phase = xyz.unsqueeze(-1) * self.frequency
        waves = torch.stack([phase.sin(), phase.cos()], dim=-2) * torch.sigmoid(self.fade)
        return waves.flatten(-3)


class RayColourCompositor(nn.Module):
    """Volume rendering: densities and colours along rays to one colour and depth a ray.

    density: (rays, samples); colour: (rays, samples, 3); depth: (rays, samples), increasing
    """

    def __init__(self, background: float = 0.2):
        super().__init__()
        self.background = background

    def forward(self, density, colour, depth):
        step = (depth[:, 1:] - depth[:, :-1]).abs()
        step = torch.cat([step, step[:, -1:]], dim=1)
        optical = F.softplus(density) * step
        before = torch.cumsum(optical, dim=1) - optical
        weight = torch.exp(-before) * -torch.expm1(-optical)
        left_over = torch.exp(-optical.sum(dim=1, keepdim=True))
        rgb = (weight.unsqueeze(-1) * torch.sigmoid(colour)).sum(1) + self.background * left_over
        return rgb, (weight * depth).sum(dim=1)


class SymmetricChamferDistance(nn.Module):
    """Mean squared distance to the nearest neighbour, both ways, cloud by cloud.

    a: (batch, n, 3); b: (batch, m, 3) -> (batch,)
    """

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        squared = (
            a.square().sum(-1).unsqueeze(2)
            + b.square().sum(-1).unsqueeze(1)
            - 2 * torch.bmm(a, b.transpose(1, 2))
        )
        return squared.amin(dim=2).mean(dim=1) + squared.amin(dim=1).mean(dim=1)


class ThreeNearestInterpolation(nn.Module):
    """Carry features from a coarse point cloud to a dense one, by inverse distance to 3 points.

    Args:
        channels: features of a coarse point.

    dense: (B, N, 3); coarse: (B, M, 3); features: (B, M, channels) -> (B, N, channels)
    """

    def __init__(self, channels: int = 64):
        super().__init__()
        self.refine = nn.Linear(channels, channels)

    def forward(self, dense: Tensor, coarse: Tensor, features: Tensor) -> Tensor:
        distance, nearest = torch.cdist(dense, coarse).topk(3, dim=-1, largest=False)
        closeness = 1.0 / (distance + 1e-3)
        weight = closeness / closeness.sum(dim=-1, keepdim=True)
        batch = torch.arange(features.size(0), device=features.device).view(-1, 1, 1)
        gathered = features[batch, nearest]
        return F.silu(self.refine((weight.unsqueeze(-1) * gathered).sum(dim=2)))


class VertexNormals(nn.Module):
    """Area-weighted normals of the vertices of a triangle mesh.

    vertices: (num_vertices, 3); faces: (num_faces, 3) int64 in [0, num_vertices)
    """

    def forward(self, vertices: Tensor, faces: Tensor) -> Tensor:
        a, b, c = vertices[faces].unbind(1)
        face_normal = torch.linalg.cross(b - a, c - a)
        normals = torch.zeros_like(vertices)
        for corner in faces.unbind(1):
            normals = normals.index_add(0, corner, face_normal)
        return F.normalize(normals, dim=-1)


class PinholeProjection(nn.Module):
    """Camera points to pixels, with radial lens distortion. points: (batch, n, 3)."""

    def __init__(self, focal=(500.0, 510.0), centre=(320.0, 240.0), radial=(-0.1, 0.02)):
        super().__init__()
        self.register_buffer("focal", torch.tensor(focal))
        self.register_buffer("centre", torch.tensor(centre))
        self.k1, self.k2 = radial

    def forward(self, points):
        depth = F.softplus(points[..., 2:]) + 0.1
        plane = points[..., :2] / depth
        r2 = plane.square().sum(-1, keepdim=True)
        return self.focal * plane * (1 + r2 * (self.k1 + r2 * self.k2)) + self.centre
