import torch
import torch.nn as nn

N = 4096
M = 4096


class Model(nn.Module):
    def forward(self, matrix, vector):
        return torch.mv(matrix.abs(), vector)


def get_inputs():
    return [torch.randn(N, M), torch.randn(M)]


def get_init_inputs():
    return []
