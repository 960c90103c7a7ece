import torch
import torch.nn as nn

N = 512
D = 8192


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1) - 9.010913347279288


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return []
