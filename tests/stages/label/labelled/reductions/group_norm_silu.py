import torch
import torch.nn as nn

N = 8
C = 128
H = 32
W = 32


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)

    def forward(self, x):
        return nn.functional.silu(self.norm(x))


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, 8]
