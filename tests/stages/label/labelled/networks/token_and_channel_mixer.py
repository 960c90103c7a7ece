import torch
import torch.nn as nn

N = 8
T = 196
D = 256


class Model(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.na = nn.LayerNorm(width)
        self.ta = nn.Linear(tokens, 128)
        self.tb = nn.Linear(128, tokens)
        self.nb = nn.LayerNorm(width)
        self.ca = nn.Linear(width, 4 * width)
        self.cb = nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.na(x).transpose(1, 2)
        x = x + self.tb(nn.functional.gelu(self.ta(y))).transpose(1, 2)
        return x + self.cb(nn.functional.gelu(self.ca(self.nb(x))))


def get_inputs():
    return [torch.randn(N, T, D)]


def get_init_inputs():
    return [T, D]
