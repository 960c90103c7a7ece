import torch
import torch.nn as nn

N = 64
D = 16384


class Model(nn.Module):
    def forward(self, t):
        t = t.clamp(0, 1)
        return t * t * t * (t * (t * 6 - 15) + 10)


def get_inputs():
    return [torch.rand(N, D) * 1.4 - 0.2]


def get_init_inputs():
    return []
