import torch
import torch.nn as nn

N = 16384
M = 32
K = 256


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(N, K), torch.randn(K, M)]


def get_init_inputs():
    return []
