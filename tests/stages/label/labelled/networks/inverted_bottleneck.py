import torch
import torch.nn as nn

N = 4
C = 32
H = 32
W = 32


class Model(nn.Module):
    def __init__(self, channels, factor):
        super().__init__()
        hidden = channels * factor
        self.expand = nn.Conv2d(channels, hidden, 1)
        self.depth = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.project = nn.Conv2d(hidden, channels, 1)

    def forward(self, x):
        y = nn.functional.relu6(self.depth(nn.functional.relu6(self.expand(x))))
        return x + self.project(y)


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, 6]
