import torch
import torch.nn as nn

N = 512
D = 512
K = 2048


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(nn.functional.elu(self.up(x)))


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K]
