import torch
import torch.nn as nn

N = 256
D = 8192


class Model(nn.Module):
    def forward(self, x):
        return x / (x.abs().amax(dim=-1, keepdim=True) + 1e-5)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return []
