import torch
import torch.nn as nn

N = 512
D = 1024
R = 16


class Model(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.base = nn.Linear(width, width, bias=False)
        self.a = nn.Parameter(torch.randn(width, rank) * 0.05)
        self.b = nn.Parameter(torch.randn(rank, width) * 0.05)

    def forward(self, x):
        return self.base(x) + 2.0 * ((x @ self.a) @ self.b)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, R]
