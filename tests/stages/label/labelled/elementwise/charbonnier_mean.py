import torch
import torch.nn as nn

N = 32
D = 16384


class Model(nn.Module):
    def forward(self, estimate, target):
        return torch.sqrt((estimate - target) ** 2 + 1e-6).mean()


def get_inputs():
    return [torch.randn(N, D), torch.randn(N, D)]


def get_init_inputs():
    return []
