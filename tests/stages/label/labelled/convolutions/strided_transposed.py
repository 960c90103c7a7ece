import torch
import torch.nn as nn

N = 4
C = 64
K = 32
H = 28
W = 28


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inner, outer, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.tanh(self.conv(x))


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, K]
