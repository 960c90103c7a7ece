import torch
import torch.nn as nn

N = 512
D = 1024
K = 1024


class Model(nn.Module):
    def __init__(self, inner, outer, groups):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.norm = nn.GroupNorm(groups, outer)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)

    def forward(self, x):
        return nn.functional.hardtanh(self.norm(self.linear(x)), -2.0, 2.0)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K, 32]
