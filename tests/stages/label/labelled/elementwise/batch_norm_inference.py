import torch
import torch.nn as nn

N = 16
C = 64
H = 56
W = 56


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.norm.running_mean, -1, 1)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)
        nn.init.uniform_(self.norm.weight, 0.5, 2)
        nn.init.uniform_(self.norm.bias, -1, 1)

    def forward(self, x):
        return nn.functional.leaky_relu(self.norm(x), 0.1)


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C]
