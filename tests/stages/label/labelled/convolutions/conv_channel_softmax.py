import torch
import torch.nn as nn

N = 8
C = 16
K = 32
H = 48
W = 48


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, 3)

    def forward(self, x):
        return torch.softmax(self.conv(x), dim=1) * 2.0


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, K]
