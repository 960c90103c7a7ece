import torch
import torch.nn as nn

N = 4
C = 16
D = 32


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(nn.functional.avg_pool3d(x, 2))


def get_inputs():
    return [torch.randn(N, C, D, D, D)]


def get_init_inputs():
    return []
