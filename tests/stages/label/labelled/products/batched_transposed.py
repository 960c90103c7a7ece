import torch
import torch.nn as nn

B = 64
N = 128
M = 128
K = 64


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b.transpose(1, 2)) * 0.125


def get_inputs():
    return [torch.randn(B, N, K), torch.randn(B, M, K)]


def get_init_inputs():
    return []
