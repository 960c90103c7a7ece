import torch
import torch.nn as nn

N = 512
D = 1024
K = 512


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.norm = nn.BatchNorm1d(outer)
        nn.init.uniform_(self.norm.running_mean, -1, 1)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)

    def forward(self, x):
        return nn.functional.gelu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K]
