import torch
import torch.nn as nn

N = 512
D = 512
K = 2048


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.norm = nn.LayerNorm(outer)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)

    def forward(self, x):
        return nn.functional.gelu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K]
