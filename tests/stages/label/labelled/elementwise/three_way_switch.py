import torch
import torch.nn as nn

N = 64
D = 16384


class Model(nn.Module):
    def forward(self, x):
        low = torch.exp(x) - 1.0
        high = torch.log1p(x.clamp(min=0)) + 1.0
        return torch.where(x < 0, low, torch.where(x < 1, x, high))


def get_inputs():
    return [torch.randn(N, D) * 2]


def get_init_inputs():
    return []
