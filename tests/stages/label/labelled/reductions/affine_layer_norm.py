import torch
import torch.nn as nn

N = 16
T = 512
D = 1024


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)

    def forward(self, x, skip):
        return self.norm(x + skip)


def get_inputs():
    return [torch.randn(N, T, D), torch.randn(N, T, D)]


def get_init_inputs():
    return [D]
