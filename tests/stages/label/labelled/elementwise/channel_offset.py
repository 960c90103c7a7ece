import torch
import torch.nn as nn

N = 16
C = 96
H = 56
W = 56


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.offset = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        return x + self.offset


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C]
