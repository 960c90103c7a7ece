import torch
import torch.nn as nn

N = 512
D = 512
K = 1024


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.gate = nn.Linear(inner, outer, bias=False)
        self.value = nn.Linear(inner, outer, bias=False)

    def forward(self, x):
        return torch.sigmoid(self.gate(x)) * self.value(x)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K]
