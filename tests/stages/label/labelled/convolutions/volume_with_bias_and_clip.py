import torch
import torch.nn as nn

N = 2
C = 16
K = 32
D = 16


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.Conv3d(inner, outer, 3)
        self.shift = nn.Parameter(torch.randn(outer, 1, 1, 1))

    def forward(self, x):
        return torch.clamp(self.conv(x) + self.shift, -1.0, 2.0) * 0.5


def get_inputs():
    return [torch.randn(N, C, D, D, D)]


def get_init_inputs():
    return [C, K]
