import torch
import torch.nn as nn

N = 512
D = 1024
K = 1024


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return nn.functional.mish(self.linear(x)) * 0.5 + 1.0


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K]
