import torch
import torch.nn as nn

N = 4
C = 16
K = 64
H = 48
W = 48


class Model(nn.Module):
    def __init__(self, inner, outer, groups):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inner, outer, 3, stride=2)
        self.norm = nn.GroupNorm(groups, outer)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)

    def forward(self, x):
        y = torch.tanh(self.norm(self.conv(x)))
        return nn.functional.avg_pool2d(y, 2)


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, K, 8]
